"""∂J/∂quantity of the current policy as explicit columns: what every trainer multiplies into its own backward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from rldsl.algebra.evaluate import Value
from rldsl.algebra.expr import RESPONSE, TOKEN, absolute, highest
from rldsl.algebra.variables import ADVANTAGE, CORRECTION, LOGP, LOGP_ROLLOUT, WEIGHT
from rldsl.backends.torch_math import TorchMath
from rldsl.runtime.batch import Batch
from rldsl.runtime.observed import FACTOR
from rldsl.runtime.tally import Tally
from rldsl.runtime.trajectory import Trajectory

from .optimizer import require_finite
from .terms import Terms


def live_rows(update: Batch) -> list[int]:
    """Positions of the responses with an advantage that is not 0 somewhere."""
    largest = update.value(highest(absolute(ADVANTAGE), RESPONSE)).data
    return largest.nonzero().flatten().tolist()


def coefficients(terms: Terms, math: TorchMath, rows: Sequence[Trajectory], batch: Batch, found: Mapping[str, Tensor],
                 tally: Tally) -> dict[str, Tensor]:
    """∂J/∂quantity for every quantity in `found`, float64 over the tokens of `rows`; values go into the tally.

    RunError RL601 where a quantity, a term or a slope is not finite.
    """
    names = [f"{r.group}.{r.sibling}" for r in rows]
    lengths = list(batch.lengths)
    require_finite(found.items(), lengths, names, "policy forward")
    batch = batch.with_columns(**{n: Value(TOKEN, math.column(c)) for n, c in found.items()})
    slopes: dict[str, Tensor] = {}
    for part in (p for p in terms.parts if p not in terms.once):
        value, own = math.both(part.expr, batch.columns, batch.shape)
        tally.add(f"objective/{part.name}", float(value.data.sum()), 0)
        columns = [(f"the {part.name} term", value.data), *((f"∂({part.name})/∂{n}", g) for n, g in own.items())]
        require_finite(columns, lengths, names, "objective")
        if part is terms.parts[0]:
            _count_gated(batch, own.get(LOGP.name), tally)
        for name, g in own.items():
            slopes[name] = slopes[name] + g if name in slopes else g
    _measure(terms, batch, found, tally)
    return slopes


def _count_gated(batch: Batch, slope: Tensor | None, tally: Tally) -> None:
    """The share of tokens with a say (A, w and d not 0) whose policy term has gradient exactly 0."""
    if slope is None:
        return
    columns = batch.columns
    say = (columns[ADVANTAGE.name].data != 0) & (columns[CORRECTION.name].data != 0) & (columns[WEIGHT.name].data != 0)
    tally.add("gated", float((say & (slope == 0)).sum()), float(say.sum()))


def _measure(terms: Terms, batch: Batch, found: Mapping[str, Tensor], tally: Tally) -> None:
    """Ratio, entropy, exact KL and the distance to the recorded log-probs, raw, over the computed tokens."""
    tokens = float(sum(batch.lengths))
    if terms.ratio is not None:
        ratio = batch.value(terms.ratio, TOKEN).data
        tally.add("ratio/mean", float(ratio.sum()), tokens)
        tally.add("ratio/distance", float((ratio - 1).abs().sum()), tokens)
    for name in found:
        if name != LOGP.name:
            tally.add(name, float(found[name].detach().sum()), tokens)
    if LOGP_ROLLOUT.name in batch.columns:
        gap = batch.columns[LOGP.name].data - batch.columns[LOGP_ROLLOUT.name].data
        tally.add("mismatch/mean", float(gap.sum()), tokens)
        tally.add("mismatch/abs", float(gap.abs().sum()), tokens)
        tally.add("mismatch/tail", float((gap.abs() > FACTOR).sum()), tokens)
