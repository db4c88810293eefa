"""Turns, steps and segments in terms of their tokens: where one begins and ends, and what lies ahead of it."""

from __future__ import annotations

from .expr import RESPONSE, Expr, Operand, discounted, following, ge, lift, mean, total, where
from .variables import TOKENS


def is_last(over: str) -> Expr:
    """1 on the last token of each unit of `over`, else 0."""
    return 1.0 - following(TOKENS, 0.0, over)


def is_first(over: str) -> Expr:
    """1 on the first token of each unit of `over`, else 0."""
    return ge(discounted(TOKENS, 1.0, over), total(TOKENS, over))


def at_first(x: Operand, over: str) -> Expr:
    """The value of x at the first token of each unit of `over`; x may differ inside the unit. Grain `over`."""
    return total(where(is_first(over), lift(x), 0.0), over)


def after(x: Operand, over: str) -> Expr:
    """The value of x at the token that follows a unit in the same response, 0 after the last unit. Grain `over`."""
    return total(is_last(over) * following(x, 0.0, RESPONSE), over)


def unit_return(reward: Expr, gamma: float, over: str) -> Expr:
    """Reward from each unit on, discounted by γ per unit: G_k = R_k + γ·G_{k+1}. Grain `over`."""
    ahead = discounted(reward, where(is_last(over), gamma, 1.0), RESPONSE)
    return total(reward, over) + gamma * after(ahead, over)


def unit_gae(reward: Expr, value: Expr, gamma: Operand, decay: Operand, over: str) -> Expr:
    """GAE with one step per unit: δ_k = R_k + γV_{k+1} − V_k with V at a unit's first token; token grain.

    Every token of a unit has the unit's A_k = δ_k + decay·A_{k+1}.
    """
    delta = total(reward, over) + gamma * after(value, over) - at_first(value, over)
    return discounted(is_last(over) * delta, where(is_last(over), decay, 1.0), RESPONSE)


def so_far(x: Expr) -> Expr:
    """The sum of x over the response's tokens up to and with this one."""
    return total(x, RESPONSE) - discounted(x, 1.0, RESPONSE) + x


def outcome(reward: Expr, over: str) -> Expr:
    """A response's reward at each of its units; grain `over`."""
    return mean(reward * TOKENS, over)
