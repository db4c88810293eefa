"""Random recipe files for hypothesis: the text of a random tree, with needless spaces, breaks, blanks and comments."""

from hypothesis import strategies as st

WORDS = st.sampled_from(["a", "gate", "clip", "x1", "log", "from", "stage", "pow2", "data", "in", "profile", "to"])
ANY_WORD = st.one_of(WORDS, st.sampled_from(["on", "not", "true", "none"]))
ATOMS = st.one_of(
    WORDS, st.sampled_from(["0", "20k", "1.5M", "80GB", "5%", "1e-6", "0.28", "30min", "true", "none",
                            '"a # b"', '"\\n\\"q\\""', '""', '"""two\n  lines"""', "gate.high", "f[2].reward"]))


def _joined(separator, items, trailing):
    return separator.join(items) + ("," if trailing and items else "")


def _operations(inner):
    binary = st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "|", " on ", " and ", " or ", "==", "<="]), inner)
    argument = st.one_of(inner, st.tuples(ANY_WORD, inner).map(lambda p: f"{p[0]}: {p[1]}"))
    return st.one_of(
        binary.map(lambda p: f"({p[0]}){p[1]}({p[2]})"),
        inner.map(lambda x: f"-({x})"), inner.map(lambda x: f"not ({x})"), inner.map(lambda x: f"({x})"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]})..({p[1]})"),
        st.tuples(WORDS, st.lists(argument, max_size=4), st.booleans()).map(
            lambda c: f"{c[0]}({_joined(', ', c[1], c[2])})"),
        st.tuples(st.lists(inner, max_size=4), st.booleans()).map(lambda c: f"[{_joined(', ', *c)}]"))


EXPRESSIONS = st.recursive(ATOMS, _operations, max_leaves=12)
PARTS = st.tuples(WORDS, st.sampled_from(["", "[1]", "[12]"])).map("".join)
PATHS = st.lists(PARTS, min_size=1, max_size=3).map(".".join)


@st.composite
def _body(draw, items, inline=", "):
    found = draw(st.lists(items, max_size=4))
    if draw(st.booleans()):
        return "{" + inline.join(found) + "}"
    breaks = draw(st.lists(st.sampled_from(["\n", "\n\n\n", "  # said\n", "\n# own line\n", ",\n"]),
                           min_size=len(found), max_size=len(found)))
    return "{\n" + "".join(a + b for a, b in zip(found, breaks, strict=True)) + "}"


ENTRIES = st.one_of(EXPRESSIONS, st.tuples(ANY_WORD, EXPRESSIONS).map(lambda p: f"{p[0]}:{p[1]}"))
ASSIGNMENTS = st.tuples(PATHS, EXPRESSIONS).map(lambda p: f"{p[0]}={p[1]}")
BLOCKS = st.tuples(WORDS, _body(ENTRIES)).map("".join)
PLAIN = st.one_of(ASSIGNMENTS, BLOCKS)
PROFILES = st.tuples(WORDS, _body(PLAIN)).map(lambda p: f"profile {p[0]} {p[1]}")
DIMENSIONS = st.tuples(PATHS, st.one_of(EXPRESSIONS, st.just("1e-7..1e-5 log 5"), st.just("pow2 64..512"))).map(
    lambda p: f"{p[0]} in {p[1]}")
SWEEP_ITEMS = st.one_of(DIMENSIONS, EXPRESSIONS.map(lambda e: f"exclude when {e}"),
                        _body(DIMENSIONS).map(lambda b: f"zip {b}"),
                        st.tuples(ANY_WORD, EXPRESSIONS).map(lambda p: f"{p[0]}: {p[1]}"))
STAGES = st.tuples(WORDS, WORDS, st.one_of(st.just(""), _body(PLAIN)), st.sampled_from(["", " from a"])).map(
    lambda p: f"stage {p[0]} = {p[1]}{p[2]}{p[3]}")
STATEMENTS = st.one_of(
    st.tuples(WORDS, EXPRESSIONS).map(lambda p: f"let {p[0]} = {p[1]}"),
    st.sampled_from(["import std.grpo", 'import  "../base.rl"', "ablate a from b to c"]),
    st.tuples(WORDS, st.sampled_from(["", " extends b"]), _body(st.one_of(PLAIN, PROFILES))).map(
        lambda p: f"recipe {p[0]}{p[1]} {p[2]}"),
    st.tuples(WORDS, _body(SWEEP_ITEMS)).map(lambda p: f"sweep {p[0]} of a {p[1]}"),
    st.tuples(WORDS, _body(ENTRIES)).map(lambda p: f"ablate {p[0]} from a to b {p[1]}"),
    st.tuples(WORDS, _body(STAGES)).map(lambda p: f"pipeline {p[0]} {p[1]}"))
FILES = st.lists(st.tuples(STATEMENTS, st.sampled_from(["\n", "\n\n\n", "  # why\n", "\n# apart\n\n"])).map("".join),
                 max_size=5).map("".join)
