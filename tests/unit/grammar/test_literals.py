import pytest

from rldsl.grammar.literals import BadLiteral, number, string


@pytest.mark.parametrize(("text", "value", "kind"), [
    ("20k", 20_000, "plain"), ("1.5M", 1_500_000, "plain"), ("80GB", 80_000_000_000, "bytes"),
    ("1KiB", 1024, "bytes"), ("0.5MiB", 524_288, "bytes"), ("30min", 1800, "time"), ("1.5h", 5400, "time"),
    ("2d", 172_800, "time"), ("0.1s", 0.1, "time"), ("5%", 0.05, "percent"), ("0.1%", 0.001, "percent"),
    ("100%", 1.0, "percent"), ("1e-6", 1e-6, "plain"), ("3", 3, "plain"), ("3.0", 3.0, "plain"),
    ("0.0015k", 1.5, "plain"),
    ("9007199254740993", 9007199254740993, "plain"), ("1e3k", 1_000_000, "plain"), ("0", 0, "plain"),
])
def test_numbers_are_exact(text, value, kind):
    found, of = number(text)
    assert (found, of) == (value, kind) and type(found) is type(value)


@pytest.mark.parametrize(("text", "code"), [("20K", "RL203"), ("7B", "RL203"), ("1e999", "RL204"), ("1e-999", "RL204"),
                                            ("9" * 5000, "RL204"), ("1e99999999999k", "RL204"), ("3x", "RL203")])
def test_bad_numbers(text, code):
    with pytest.raises(BadLiteral) as caught:
        number(text)
    assert caught.value.code == code and caught.value.fix


def test_strings():
    assert string('"a\\nb\\\\\\"c"') == 'a\nb\\"c'
    assert string('"""a "quoted"\nb"""') == 'a "quoted"\nb'
    with pytest.raises(BadLiteral):
        string('"\\t"')
