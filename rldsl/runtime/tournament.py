"""Strengths from pairwise comparisons: the Bradley–Terry model in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

ROUNDS, TOLERANCE = 1000, 1e-12


def strengths(won: Sequence[Sequence[float]]) -> list[float]:
    """Maximum-likelihood strengths s, P(i ≻ j) = s_i/(s_i + s_j), summing to 1; `won[i][j]` in [0, 1] is how far i beat
    j, `won[i][j] + won[j][i]` how often they met. One that never won has strength 0.

    The fixed point of s_i ← W_i / Σ_j n_ij/(s_i + s_j) (Hunter 2004, equation 3).
    """
    n = len(won)
    total = [sum(won[i][j] for j in range(n) if j != i) for i in range(n)]
    s = [1.0 / n] * n
    for _ in range(ROUNDS):
        new = [_step(won, total, s, i) for i in range(n)]
        scale = sum(new)
        new = [x / scale for x in new] if scale else [1.0 / n] * n
        moved = max(abs(a - b) for a, b in zip(s, new, strict=True))
        s = new
        if moved < TOLERANCE:
            break
    return s


def _step(won: Sequence[Sequence[float]], total: Sequence[float], s: Sequence[float], i: int) -> float:
    if not total[i]:
        return 0.0
    met = sum((won[i][j] + won[j][i]) / (s[i] + s[j]) for j in range(len(s)) if j != i and s[i] + s[j])
    return total[i] / met if met else s[i]


def win_rates(won: Sequence[Sequence[float]]) -> list[float]:
    """The mean over the others of s_i/(s_i + s_j), ½ between two that never won; one alone has ½."""
    s, n = strengths(won), len(won)
    if n == 1:
        return [0.5]
    return [sum(s[i] / (s[i] + s[j]) if s[i] + s[j] else 0.5 for j in range(n) if j != i) / (n - 1) for i in range(n)]
