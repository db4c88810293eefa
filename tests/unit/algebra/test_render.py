import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rldsl.algebra import expr as x
from rldsl.algebra.evaluate import evaluate
from rldsl.algebra.layout import layout
from rldsl.algebra.render_latex import latex
from rldsl.algebra.render_unicode import unicode
from rldsl.algebra.variables import ADVANTAGE, KL_EXACT, LENGTH, LOGP, LOGP_OLD, RESPONSES, REWARD, VALUE, score

A, B, C = (x.Var(n, x.UPDATE, n, n) for n in "abc")
R = x.ratio_of(LOGP - LOGP_OLD)

GOLDEN = [
    (A + B * C, "a + b·c", r"a + b \cdot c"),
    ((A + B) * C, "(a + b)·c", r"\left(a + b\right) \cdot c"),
    (A - (B - C), "a − (b − c)", r"a - \left(b - c\right)"),
    (A - B - C, "a − b − c", "a - b - c"),
    (A / (B * C), "a / (b·c)", r"\frac{a}{b \cdot c}"),
    (A + -B, "a − b", "a - b"),
    (A - -0.5 * B, "a + 0.5·b", r"a + 0.5 \cdot b"),
    (-(A + B), "−(a + b)", r"-\left(a + b\right)"),
    (-0.04 * A, "−0.04·a", r"-0.04 \cdot a"),
    (A**2 + (A + B)**0.5, "a² + √(a + b)", r"{a}^{2} + \sqrt{a + b}"),
    ((A * B)**x.lift(-1.0), "(a·b)⁻¹", r"{\left(a \cdot b\right)}^{-1}"),
    (x.lift(1e-6), "1e-6", "10^{-6}"), (x.lift(0.1 + 0.2), "0.3", "0.3"),
    (R, "exp±(ℓₜ − log π_old)", r"\exp_{\pm}\left(\ell_t - \log\pi_{\mathrm{old}}\right)"),
    (x.exp(A), "exp(a)", r"\exp\left(a\right)"),
    (x.sg(x.clip(A, 0.8, 1.2)) * B, "sg(clip(a, 0.8, 1.2))·b",
     r"\operatorname{sg}\left(\operatorname{clip}\left(a, 0.8, 1.2\right)\right) \cdot b"),
    (x.minimum(A, x.minimum(B, C)), "min(a, b, c)", r"\min\left(a, b, c\right)"),
    (x.minimum(A, x.maximum(B, C)), "min(a, max(b, c))", r"\min\left(a, \max\left(b, c\right)\right)"),
    (A * x.inside(B, 0.5, 2.0), "a·1[0.5 ≤ b ≤ 2]", r"a \cdot \mathbf{1}\left[0.5 \le b \le 2\right]"),
    (x.between(A, B, C), "1[b < a < c]", r"\mathbf{1}\left[b < a < c\right]"),
    (x.where(x.lt(A, 0.0), B, C), "(b if a < 0 else c)",
     r"\begin{cases} b & a < 0 \\ c & \text{otherwise} \end{cases}"),
    (x.where(A, 1.0, 0.0), "1[a ≠ 0]", r"\mathbf{1}\left[a \ne 0\right]"),
    (x.total(LOGP - LOGP_OLD, x.RESPONSE), "Σ_{t∈i} (ℓₜ − log π_old)",
     r"\sum_{t \in i} \left(\ell_t - \log\pi_{\mathrm{old}}\right)"),
    (x.total(ADVANTAGE, x.UPDATE) + A, "(Σ_t Aₜ) + a", r"\left(\sum_{t} A_t\right) + a"),
    (A * x.total(ADVANTAGE, x.UPDATE), "a·(Σ_t Aₜ)", r"a \cdot \left(\sum_{t} A_t\right)"),
    (x.total(RESPONSES * LENGTH, x.UPDATE), "Σ_i Tᵢ", r"\sum_{i} T_i"),
    (REWARD - x.mean(REWARD, x.GROUP), "Rᵢ − mean_{i∈g}(Rᵢ)",
     r"R_i - \operatorname{mean}_{i \in g}\left(R_i\right)"),
    (x.std(REWARD, x.GROUP, "sample"), "std[n−1]_{i∈g}(Rᵢ)", r"\operatorname{std}^{(n-1)}_{i \in g}\left(R_i\right)"),
    (x.highest(x.absolute(ADVANTAGE), x.RESPONSE), "max_{t∈i}(|Aₜ|)",
     r"\max_{t \in i}\left(\left|A_t\right|\right)"),
    (x.discounted(REWARD, 1.0), "Σ_{l≥0} [Rᵢ]ₜ₊ₗ", r"\sum_{l \ge 0} \left[R_i\right]_{t+l}"),
    (x.discounted(ADVANTAGE, 0.9, x.TURN), "Σ_{l≥0, t+l∈k} 0.9ˡ·[Aₜ]ₜ₊ₗ",
     r"\sum_{l \ge 0,\, t+l \in k} {0.9}^{l} \cdot \left[A_t\right]_{t+l}"),
    (x.discounted(ADVANTAGE, VALUE), "Σ_{l≥0} (Π_{m<l} [Vₜ]ₜ₊ₘ)·[Aₜ]ₜ₊ₗ",
     r"\sum_{l \ge 0} \left(\prod_{m<l} \left[V_t\right]_{t+m}\right) \cdot \left[A_t\right]_{t+l}"),
    (x.following(VALUE), "[Vₜ]ₜ₊₁", r"\left[V_t\right]_{t+1}"),
    (x.following(VALUE, A, x.TURN), "[Vₜ, in k, else a]ₜ₊₁",
     r"\left[V_t,\, \text{in } k,\, \text{else } a\right]_{t+1}"),
    (score("my_judge"), "s[my_judge]ᵢ", r"s^{\mathrm{my\_judge}}_i"),
    (-KL_EXACT, "−KLₜ(π_θ‖π_ref)", r"-\mathrm{KL}_t(\pi_\theta\Vert\pi_{\mathrm{ref}})"),
]


@pytest.mark.parametrize("e, text, tex", GOLDEN, ids=[g[1] for g in GOLDEN])
def test_formulas(e, text, tex):
    assert unicode(e) == text
    assert latex(e) == tex


def test_latex_brackets_are_balanced():
    for e, _, _ in GOLDEN:
        text = latex(e)
        assert text.count("{") == text.count("}") and text.count(r"\left") == text.count(r"\right")


NUMBERS = {"a": 1.7, "b": -0.6, "c": 2.3}
LEAVES = st.sampled_from([A, B, C, x.lift(2.0), x.lift(-0.5), x.lift(1.25)])


def grow(parts):
    two = st.tuples(parts, parts)
    return st.one_of(two.map(lambda p: p[0] + p[1]), two.map(lambda p: p[0] - p[1]), two.map(lambda p: p[0] * p[1]),
                     two.map(lambda p: p[0] / p[1]), parts.map(lambda p: -p), parts.map(lambda p: p**2.0),
                     two.map(lambda p: x.minimum(*p)), parts.map(x.absolute))


@given(st.recursive(LEAVES, grow, max_leaves=12))
def test_reading_the_line_gives_the_value_of_the_expression(e):
    wanted = evaluate(e, {k: [v] for k, v in NUMBERS.items()}, layout([1], [0])).data[0]
    text = re.sub(r"\|([^|]*)\|", r"abs(\1)", unicode(e)) if unicode(e).count("|") <= 2 else None
    if text is None or abs(wanted) > 1e6 or wanted != wanted:
        return
    code = text.replace("·", "*").replace("−", "-").replace("²", "**2")
    try:
        read = eval(code, {"abs": abs, "min": min}, NUMBERS)
    except ZeroDivisionError:
        return
    assert read == pytest.approx(wanted, rel=1e-9, abs=1e-9)
