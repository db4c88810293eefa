"""Names and values as MLflow takes them."""

from rldsl.runtime.tracking_values import chunks, flat, name_of, short


def test_nested_values_become_flat_names():
    nested = {"gate": {"name": "clip", "high": 0.28, "dual": None}, "stages": [{"n": 8}, True], "empty": {}}
    assert flat(nested) == {"gate.name": "clip", "gate.high": "0.28", "gate.dual": "none", "stages.0.n": "8",
                            "stages.1": "true", "empty": "{}"}
    assert flat({}) == {}


def test_long_values_are_cut_and_stay_different():
    a, b = short("x" * 10_000 + "a"), short("x" * 10_000 + "b")
    assert len(a) == len(b) <= 500 and a != b and a.startswith("xxx")
    assert short("x" * 500) == "x" * 500


def test_names_keep_to_the_allowed_characters():
    assert name_of("reward/mean (raw)") == "reward/mean _raw_"
    assert len(name_of("n" * 1000)) <= 250 and name_of("n" * 1000) != name_of("n" * 1001)
    assert name_of("größe") == "gr__e"


def test_chunks():
    assert [list(part) for part in chunks(range(5), 2)] == [[0, 1], [2, 3], [4]]
