"""The expression algebra: the one place where a formula is written down.

An expression lives at a *grain* (token, turn, step, segment, response, pair, ordinal, state, position, group, update);
a coarser value is broadcast to a finer one. An ordinal is turn k of every sibling, a state the turns or steps of a
group that begin in one state of the environment or with one text, a position token t of every sibling. Reductions name
the grain they reduce to. Nothing here computes: see `evaluate` (plain Python, float64), `render` (LaTeX, Unicode) and
the torch evaluator of the backends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

TOKEN, TURN, STEP, SEGMENT, RESPONSE = "token", "turn", "step", "segment", "response"
PAIR, ORDINAL, STATE, POSITION, GROUP, UPDATE = "pair", "ordinal", "state", "position", "group", "update"
GRAINS = (TOKEN, TURN, STEP, SEGMENT, RESPONSE, PAIR, ORDINAL, STATE, POSITION, GROUP, UPDATE)
LOG_RATIO_BOUND = 20.0
"""Every log-ratio is bounded to ±20 before exp, in all evaluators alike (definition 1)."""


def coarser(a: str, b: str) -> str:
    """The coarser of two grains."""
    return a if GRAINS.index(a) >= GRAINS.index(b) else b


def finer(a: str, b: str) -> str:
    """The finer of two grains: where a binary operation between them lives."""
    return a if GRAINS.index(a) <= GRAINS.index(b) else b


class Expr:
    """Base of all nodes. Arithmetic operators build expressions; comparisons are functions (`lt`, `ge`, …)."""

    __slots__ = ()

    def __add__(self, other: Operand) -> Expr:
        return Apply("add", (self, lift(other)))

    def __radd__(self, other: Operand) -> Expr:
        return Apply("add", (lift(other), self))

    def __sub__(self, other: Operand) -> Expr:
        return Apply("sub", (self, lift(other)))

    def __rsub__(self, other: Operand) -> Expr:
        return Apply("sub", (lift(other), self))

    def __mul__(self, other: Operand) -> Expr:
        return Apply("mul", (self, lift(other)))

    def __rmul__(self, other: Operand) -> Expr:
        return Apply("mul", (lift(other), self))

    def __truediv__(self, other: Operand) -> Expr:
        return Apply("div", (self, lift(other)))

    def __rtruediv__(self, other: Operand) -> Expr:
        return Apply("div", (lift(other), self))

    def __pow__(self, other: Operand) -> Expr:
        return Apply("pow", (self, lift(other)))

    def __neg__(self) -> Expr:
        return Apply("neg", (self,))


@dataclass(frozen=True)
class Const(Expr):
    value: float


@dataclass(frozen=True)
class Var(Expr):
    """A named quantity of the batch. `symbol` is its LaTeX form, `plain` its Unicode form."""

    name: str
    grain: str
    symbol: str = ""
    plain: str = ""
    gradient: bool = False


@dataclass(frozen=True)
class Apply(Expr):
    """An elementwise operation, by name: add, sub, mul, …, clip, where, sg; `evaluate.VALUES` has them all."""

    op: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Reduce(Expr):
    """`op` (sum mean std std_sample max min count) of `arg` over each unit of grain `over`."""

    op: str
    arg: Expr
    over: str


@dataclass(frozen=True)
class Order(Expr):
    """Each value against the others in its unit of `over`: `above` counts those larger than it, `upto` sums those not
    larger, itself among them. Equal values are treated alike, so the order of rows is never seen. Gradient zero."""

    op: str
    arg: Expr
    over: str


@dataclass(frozen=True)
class Scan(Expr):
    """`y_t = x_t + decay_t · y_{t+1}` inside each unit of `over`, from its last token back to its first."""

    arg: Expr
    decay: Expr
    over: str


@dataclass(frozen=True)
class Shift(Expr):
    """The value at the next token inside the same unit of `over`; `fill` after the last."""

    arg: Expr
    fill: Expr
    over: str


Operand = Union[Expr, float, int]


def lift(x: Operand) -> Expr:
    """A number becomes a constant; an expression stays itself."""
    return x if isinstance(x, Expr) else Const(float(x))


def children(e: Expr) -> tuple[Expr, ...]:
    """The direct parts of an expression."""
    match e:
        case Apply(_, args):
            return args
        case Reduce(_, arg, _) | Order(_, arg, _):
            return (arg,)
        case Scan(arg, second, _) | Shift(arg, second, _):
            return (arg, second)
    return ()


def rebuild(e: Expr, parts: tuple[Expr, ...]) -> Expr:
    """`e` with its direct parts replaced."""
    match e:
        case Apply(op, _):
            return Apply(op, parts)
        case Reduce(op, _, over):
            return Reduce(op, parts[0], over)
        case Order(op, _, over):
            return Order(op, parts[0], over)
        case Scan(_, _, over):
            return Scan(parts[0], parts[1], over)
        case Shift(_, _, over):
            return Shift(parts[0], parts[1], over)
    return e


# ── the vocabulary choice files write in ─────────────────────────────────────────────────────────────

def sg(x: Operand) -> Expr:
    """Stop-gradient: the value of x, with gradient zero."""
    return Apply("sg", (lift(x),))


def exp(x: Operand) -> Expr:
    """e^x."""
    return Apply("exp", (lift(x),))


def log(x: Operand) -> Expr:
    """Natural logarithm."""
    return Apply("log", (lift(x),))


def absolute(x: Operand) -> Expr:
    """|x|."""
    return Apply("abs", (lift(x),))


def sigmoid(x: Operand) -> Expr:
    """1 / (1 + e^−x)."""
    return Apply("sigmoid", (lift(x),))


def minimum(a: Operand, b: Operand) -> Expr:
    """The smaller of two values; at a tie the gradient is split evenly."""
    return Apply("min", (lift(a), lift(b)))


def maximum(a: Operand, b: Operand) -> Expr:
    """The larger of two values; at a tie the gradient is split evenly."""
    return Apply("max", (lift(a), lift(b)))


def clip(x: Operand, low: Operand, high: Operand) -> Expr:
    """x held inside [low, high]; the gradient passes inside and at the bounds, and is zero beyond."""
    return Apply("clip", (lift(x), lift(low), lift(high)))


def where(condition: Expr, yes: Operand, no: Operand) -> Expr:
    """`yes` where the condition is non-zero, else `no`; the branch not taken gives neither value nor gradient."""
    return Apply("where", (condition, lift(yes), lift(no)))


def lt(a: Operand, b: Operand) -> Expr:
    """1 where a < b, else 0."""
    return Apply("lt", (lift(a), lift(b)))


def le(a: Operand, b: Operand) -> Expr:
    """1 where a ≤ b, else 0."""
    return Apply("le", (lift(a), lift(b)))


def gt(a: Operand, b: Operand) -> Expr:
    """1 where a > b, else 0."""
    return Apply("gt", (lift(a), lift(b)))


def ge(a: Operand, b: Operand) -> Expr:
    """1 where a ≥ b, else 0."""
    return Apply("ge", (lift(a), lift(b)))


def both(a: Expr, b: Expr) -> Expr:
    """1 where both conditions hold."""
    return Apply("and", (a, b))


def either(a: Expr, b: Expr) -> Expr:
    """1 where at least one condition holds."""
    return Apply("or", (a, b))


def equal(a: Operand, b: Operand) -> Expr:
    """1 where a = b, else 0."""
    return Apply("eq", (lift(a), lift(b)))


def inside(x: Operand, low: Operand, high: Operand) -> Expr:
    """1 where low ≤ x ≤ high (closed band)."""
    return both(ge(x, low), le(x, high))


def between(x: Operand, low: Operand, high: Operand) -> Expr:
    """1 where low < x < high (open band)."""
    return both(gt(x, low), lt(x, high))


def total(x: Operand, over: str) -> Expr:
    """Sum over each unit of a grain."""
    return Reduce("sum", lift(x), over)


def mean(x: Operand, over: str) -> Expr:
    """Mean over each unit of a grain; exact where all values are equal."""
    return Reduce("mean", lift(x), over)


def std(x: Operand, over: str, kind: str = "population") -> Expr:
    """Standard deviation in two passes; `kind` population (÷n) or sample (÷(n−1)); rounding noise counts as 0."""
    return Reduce({"population": "std", "sample": "std_sample"}[kind], lift(x), over)


def highest(x: Operand, over: str) -> Expr:
    """Largest value in each unit of a grain."""
    return Reduce("max", lift(x), over)


def lowest(x: Operand, over: str) -> Expr:
    """Smallest value in each unit of a grain."""
    return Reduce("min", lift(x), over)


def count(x: Operand, over: str) -> Expr:
    """How many values of x's grain lie in each unit of `over`."""
    return Reduce("count", lift(x), over)


def above(x: Operand, over: str) -> Expr:
    """How many values in the same unit are larger: 0 for the largest."""
    return Order("above", lift(x), over)


def upto(x: Operand, over: str) -> Expr:
    """The sum of the values in the same unit that are not larger, itself among them."""
    return Order("upto", lift(x), over)


def discounted(x: Operand, decay: Operand, over: str = RESPONSE) -> Expr:
    """`y_t = x_t + decay · y_{t+1}`, backwards inside each unit of `over`."""
    return Scan(lift(x), lift(decay), over)


def following(x: Operand, fill: Operand = 0.0, over: str = RESPONSE) -> Expr:
    """The next token's value inside the same unit; `fill` after its last token."""
    return Shift(lift(x), lift(fill), over)


def ratio_of(log_ratio: Operand, high: float | None = LOG_RATIO_BOUND) -> Expr:
    """exp of a log-ratio held in [−20, high] first (value saturates, gradient is zero beyond); None: free above."""
    if high is None:
        return exp(where(lt(log_ratio, -LOG_RATIO_BOUND), -LOG_RATIO_BOUND, log_ratio))
    return exp(clip(log_ratio, -LOG_RATIO_BOUND, high))
