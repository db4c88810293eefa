"""Sequential model-based search: the next point is drawn where good trials are denser than bad ones.

Differs from a plain sweep: later points depend on the results of earlier ones, so that fewer are run, and a trial that
falls behind may end early: only by the mean over all of its seeds, at a batch that all of them have reached, and once
five trials have finished.
Source: Bergstra et al. (NeurIPS 2011), tree-structured Parzen estimators; Golovin et al. (KDD 2017), the median rule.
The estimator and the rule are those of the package optuna.
"""

from __future__ import annotations

from typing import Any, Literal

from rldsl.axes.searching import Search
from rldsl.axes.types import Natural


class Optuna(Search):
    sampler: Literal["tpe", "random"] = "tpe"  # how the next point is drawn
    startup: Natural = 10  # trials drawn at random before the estimator is asked
    prune: Literal["median", "none"] = "none"  # end a trial whose best so far is worse than the median
    patience: Natural = 0  # batches in which no trial is ended
    seed: Natural = 0  # of the draws

    def ends_early(self) -> bool:
        return self.prune != "none"

    def strategy(self) -> tuple[str, dict[str, Any]]:
        return "rldsl.experiments.search_optuna:Proposer", {
            "sampler": self.sampler, "startup": self.startup, "prune": self.prune, "patience": self.patience,
            "seed": self.seed, "goal": self.goal}

    def unread(self) -> dict[str, str]:
        unread = {} if self.prune == "median" else {"patience": "prune: median"}
        return unread if self.sampler == "tpe" else unread | {"startup": "sampler: tpe"}


EXAMPLES: list = []
