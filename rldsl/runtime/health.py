"""Signs that a run learns nothing, said once when they have lasted."""

from __future__ import annotations

from collections.abc import Mapping

from rldsl.diagnostics import Diagnostic

from .metrics import REWARD, TRUNCATED, UNIFORM

PATIENCE = 5
"""Batches in a row before something is said."""
NO_SIGNAL, CUT = "no_signal", "truncated"


def watch(streaks: Mapping[str, int], metrics: Mapping[str, float], max_tokens: int,
          rewarded: bool = True) -> tuple[dict[str, int], list[Diagnostic]]:
    """The new lengths of each streak, and warnings for those that have just become long enough. `rewarded` says
    whether the policy learns from advantages at all."""
    still = rewarded and metrics.get("advantage/abs") == 0.0
    bad = {NO_SIGNAL: still and metrics.get(UNIFORM.name) == 1.0, CUT: metrics.get(TRUNCATED.name, 0.0) > 0.5}
    now = {name: streaks.get(name, 0) + 1 if held else 0 for name, held in bad.items()}
    found = []
    if now[NO_SIGNAL] == PATIENCE:
        found.append(Diagnostic(
            "RL613", f"in {PATIENCE} batches in a row every group has equal rewards: there is nothing to learn from",
            why=_cause(metrics), severity="warning",
            fix="make the task easier or harder, start from a better model, or sample with a higher temperature"))
    if now[CUT] == PATIENCE:
        found.append(Diagnostic(
            "RL614", f"{metrics[TRUNCATED.name]:.0%} of the responses end at max_tokens: {max_tokens}, "
            f"for {PATIENCE} batches", severity="warning",
            why="a response that is cut before its answer is scored as a wrong one",
            fix="raise sampling's max_tokens"))
    return now, found


def _cause(metrics: Mapping[str, float]) -> str:
    if metrics.get(TRUNCATED.name) == 1.0:
        return "all responses are cut at the limit"
    level = metrics.get(REWARD.name)
    return "advantages are all 0" if level is None else f"advantages are all 0; the mean score is {level:g}"
