"""After another estimator: add the rewards on the tokens from each one on, so that a per-token penalty still arrives.

Differs from `reward_to_go`: the outcome has been compared with its siblings before the penalty is added, and enters
once, not as a reward on the last token.
Exact: A_t + Σ_{p≥t} (R_p − [p = T_i]·R_i): the rewards that are on tokens, without the response's own.
Source: OpenRLHF 0.11.2, `compute_advantages_and_returns` (group baselines, then the KL per token, then returns).
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, discounted
from rldsl.algebra.variables import LAST, REWARD, TOKEN_REWARD
from rldsl.axes.base import AdvantageStage
from rldsl.axes.choice import Example
from rldsl.axes.traits import TOKEN_ADVANTAGE, TOKEN_REWARDS


class TokenToGo(AdvantageStage):
    gives = {TOKEN_ADVANTAGE, TOKEN_REWARDS}

    def transform(self, advantage: Expr) -> Expr:
        return advantage + discounted(TOKEN_REWARD - LAST * REWARD, 1.0)


_row = {"prompt": "p", "reward": 1.0, "logp_current": [-1.0, -1.0], "logp_old": [-1.0, -1.0], "logp_ref": [-1.5, -2.0]}
EXAMPLES = [Example("1 less 0.1·(0.5 + 1.0), and less 0.1·1.0", {}, [_row], {"advantage": [[0.85, 0.9]]},
                    {"feedback": "verify(exact) + kl_in_reward(0.1)"})]
