"""An engine that does wrong what an engine can do wrong, in the place of the real one."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import numpy as np

from rldsl.backends.cluster.rollout.actor import RolloutActor

PACE = 0.03


class Faulty(RolloutActor):
    """Does its work until it is told what to do wrong: lose a bit of weights on their way, once (`reject once`) or
    every time (`reject`), end while it loads (`die`), never answer a load (`sleep`), forget one answer (`forget`), or
    answer what nobody could have sampled (`garble`). One may be `slow`: a step in PACE seconds."""

    wrong = ""

    def _obey(self, engine):
        if self.wrong == "slow" and engine.busy:
            time.sleep(PACE)
        super()._obey(engine)

    def misbehave(self, how):
        self.wrong = how

    def load(self, version, manifest, flat, before):
        if self.wrong.startswith("reject"):
            flat, self.wrong = np.array(flat), self.wrong.removesuffix("reject once")
            flat[3] ^= 64
        if self.wrong == "die":
            os._exit(1)
        if self.wrong == "sleep":
            time.sleep(3600)
        return super().load(version, manifest, flat, before)

    def poll(self, seconds):
        report = super().poll(seconds)
        if self.wrong == "forget" and report.finished:
            self.wrong = ""
            return replace(report, finished=report.finished[1:])
        if self.wrong != "garble":
            return report
        return replace(report, finished=tuple((i + 1000, t) if t.group == 8 else (i, _spoilt(t))
                                              for i, t in report.finished))


def _spoilt(t):
    """By its sibling."""
    match t.sibling:
        case 0:
            return replace(t, tokens=(*t.tokens[:-1], 10**6))
        case 1:
            return replace(t, logps=(*t.logps[:-1], float("nan")))
        case 2:
            return replace(t, logps=(*t.logps[:-1], 0.5))
        case 3:
            return replace(t, prompt=(1, 2))
        case 4:
            return replace(t, finish="abort")
        case 6:
            return replace(t, tokens=(99, *t.tokens[1:]))
        case _:
            return replace(t, tokens=t.tokens[:-1], logps=t.logps[:-1], versions=t.versions[:-1], finish="length")
