"""Points proposed by optuna; imported only where a sweep says so."""

from __future__ import annotations

import random
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rldsl.diagnostics import RecipeError, at

from .expansion import Line
from .search import COMPLETE, ENDED, Trial, coordinates, index_of

TRIES = 64
"""Proposals in a row that were known already, before one is drawn from what is left."""


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise RecipeError([at("RL407", "this search needs optuna, which is not installed", None,
                              why="the estimator and the rule that ends trials are the package's",
                              fix="write pip install 'rldsl[search]' in a shell")]) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna


class Proposer:
    """A strategy (see `Strategy`). The study is made anew from the trials each time, so nothing but them is kept."""

    def __init__(self, space: Sequence[Line], *, sampler: str, startup: int, prune: str, patience: int, seed: int,
                 goal: str):
        self.optuna, self.space = _optuna(), space
        self.sampler, self.startup, self.prune, self.patience = sampler, startup, prune, patience
        self.seed, self.goal = seed, goal
        kinds = self.optuna.distributions
        self.places = {str(i): kinds.IntDistribution(0, line.size - 1) if line.ordered else
                       kinds.CategoricalDistribution(tuple(range(line.size))) for i, line in enumerate(space)}

    def propose(self, told: Sequence[Trial], number: int, free: Collection[int]) -> list[int]:
        """See `Strategy`."""
        study, found, known = self._study(told), [], 0
        while len(found) < min(number, len(free)):
            trial = study.ask(self.places)
            index = index_of([trial.params[name] for name in self.places], self.space)
            if index in free and index not in found:
                found.append(index)
                known = 0
                continue
            study.tell(trial, state=self.optuna.trial.TrialState.FAIL)
            known += 1
            if known == TRIES:
                left = sorted(set(free) - set(found))
                found.append(random.Random(f"search/{self.seed}/{len(told)}/{len(found)}").choice(left))
                known = 0
        return found

    def behind(self, told: Sequence[Trial], curve: Mapping[int, float]) -> bool:
        """See `Strategy`."""
        if self.prune == "none" or not curve:
            return False
        trial = self._study(told).ask(self.places)
        for step, value in curve.items():
            trial.report(value, step)
        return trial.should_prune()

    def _study(self, told: Sequence[Trial]) -> Any:
        samplers, states = self.optuna.samplers, self.optuna.trial.TrialState
        seed = self.seed + len(told)
        drawn = (samplers.RandomSampler(seed=seed) if self.sampler == "random" else
                 samplers.TPESampler(seed=seed, n_startup_trials=self.startup, constant_liar=True))
        pruner = self.optuna.pruners.MedianPruner(n_warmup_steps=self.patience)
        study = self.optuna.create_study(direction=self.goal, sampler=drawn, pruner=pruner)
        for t in told:
            state = {COMPLETE: states.COMPLETE, ENDED: states.PRUNED}.get(t.state, states.FAIL)
            whole = state is not states.COMPLETE or t.value is not None
            params = dict(zip(self.places, coordinates(t.index, self.space), strict=True))
            study.add_trial(self.optuna.trial.create_trial(
                state=state if whole else states.FAIL, value=t.value if state is states.COMPLETE else None,
                params=params, distributions=self.places, intermediate_values=dict(t.curve)))
        return study
