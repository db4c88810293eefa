"""Random batches and random expressions that carry gradient."""

from __future__ import annotations

from hypothesis import strategies as st

from rldsl.algebra import expr as x
from rldsl.algebra.layout import Layout, layout
from rldsl.algebra.variables import ADVANTAGE, LOGP, LOGP_OLD, REWARD


@st.composite
def batches(draw) -> tuple[Layout, dict[str, list[float]]]:
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    groups = [draw(st.integers(0, 2)) for _ in lengths]
    n = sum(lengths)
    number = st.floats(-2, 2).map(lambda v: round(v, 3))
    column = st.lists(number, min_size=n, max_size=n)
    return layout(lengths, groups), {LOGP.name: draw(column), LOGP_OLD.name: draw(column), ADVANTAGE.name: draw(column),
                                     REWARD.name: draw(st.lists(number, min_size=len(lengths), max_size=len(lengths)))}


LEAVES = st.sampled_from([LOGP, LOGP_OLD, ADVANTAGE, REWARD, x.lift(0.7), x.lift(-1.3)])


def _grow(parts: st.SearchStrategy) -> st.SearchStrategy:
    two = st.tuples(parts, parts)
    grains = st.sampled_from([x.RESPONSE, x.GROUP, x.UPDATE])
    return st.one_of(
        two.map(lambda p: p[0] + p[1]), two.map(lambda p: p[0] - p[1]), two.map(lambda p: p[0] * p[1]),
        two.map(lambda p: p[0] / (x.absolute(p[1]) + 1.0)), two.map(lambda p: x.minimum(*p)),
        two.map(lambda p: x.maximum(*p)),
        parts.map(lambda p: x.ratio_of(p * 0.3)), parts.map(lambda p: x.sigmoid(p)), parts.map(x.sg),
        parts.map(lambda p: -p),
        parts.map(lambda p: x.clip(p, -1.0, 1.5)), two.map(lambda p: x.where(x.gt(p[0], 0.31), p[0], p[1])),
        st.tuples(parts, grains).map(lambda p: x.mean(p[0] + 0 * LOGP, p[1])),
        st.tuples(parts, grains).map(lambda p: x.total(p[0] + 0 * LOGP, p[1])),
        st.tuples(parts, grains).map(lambda p: x.std(p[0] + 0 * LOGP, p[1])),
        st.tuples(parts, grains).map(lambda p: x.highest(p[0] + 0 * LOGP, p[1])),
        parts.map(lambda p: x.discounted(p, 0.9)), parts.map(lambda p: x.following(p, 0.5)),
    )


EXPRESSIONS = st.recursive(LEAVES, _grow, max_leaves=8)
