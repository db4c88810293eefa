import pytest

from rldsl.algebra.render_unicode import unicode
from rldsl.axes import discover
from rldsl.compiler.describe import describe


def test_formulas_carry_the_names_of_the_parameters():
    found = dict(describe("gate", "cispo").formulas)
    assert unicode(found["term"]) == "sg(clip(rₜ, 1 − low, 1 + high))·Aₜ·ℓₜ"
    assert unicode(dict(describe("distribution", "tis").formulas)["correction"]).endswith(", cap)")


def test_calls_show_defaults_and_what_must_be_written():
    assert describe("gate", "clip").call == "clip(low: 0.2, high: low, dual: none)"
    assert describe("sampling", "group").call.startswith("group(n, max_tokens: …, temperature: 1")


def test_parameters_have_bounds_defaults_and_words():
    low = next(p for p in describe("gate", "clip").parameters if p.name == "low")
    assert (low.accepts, low.default, low.doc) == ("a number (at least 0 and at most 1)", "0.2", "floor is 1 - low")
    assert next(p for p in describe("advantage", "gae").parameters if p.name == "lambda").default == "0.95"


def test_inherited_parameters_keep_their_words():
    shared = next(p for p in describe("reduction", "token_mean").parameters if p.name == "uniform_groups")
    assert "denominators" in shared.doc


def test_an_unknown_choice_has_no_description():
    assert describe("gate", "klip") is None


@pytest.mark.parametrize("axis, name", [(a, n) for a in discover.FAMILIES for n in discover.names(a)])
def test_every_choice_can_be_described(axis, name):
    d = describe(axis, name)
    assert d.summary.endswith((".", ":")) and "Source:" in d.doc
    assert all(p.doc for p in d.parameters), f"{axis}.{name}: a parameter without a comment"
    assert all(unicode(e) for _, e in d.formulas)
