"""The canonical form is complete, plain JSON, and reads back; equal meanings have equal forms."""

import json

import pytest

from rldsl.compiler.canonical import canonical, from_canonical
from rldsl.compiler.fingerprint import fingerprints
from rldsl.compiler.resolve import resolve_all
from rldsl.compiler.resolve.load import library_root
from rldsl.diagnostics import RecipeError

from .resolve.project import recipe_text, typed

SHIPPED = sorted(library_root().rglob("*.rl"))
RICH = recipe_text(
    feedback='2 * (verify(exact) + 0.5 * format("a", reward: 1)) + verify(math) * verify(json)',
    gate="kl(0.1) + clip(0.2, dual: 3) + entropy(0.01)", distribution="max_lag(2) + icepop(0.5..5)",
    sampling='group(8, max_tokens: 9, stop: ["x"]) | keep(mixed)', advantage="gae(lambda: 0.9)",
    body='optim { adamw(lr: 1e-6) }\nevaluate { "toy:addition", gsm8k(samples: 4) }\ncritic { sgd(lr: 1) }')


def choices(recipe):
    """All but those of feedback, in an order of their own: the terms of a sum have none."""
    return sorted((n.choice for n in recipe.nodes() if n.choice.axis != "feedback"), key=repr)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_recipes_read_back(path):
    for recipe in resolve_all(str(path)):
        data = json.loads(json.dumps(canonical(recipe)))
        again = from_canonical(data)
        assert canonical(again) == data
        assert choices(again) == choices(recipe)
        assert again.settings == recipe.settings and again.seed == recipe.seed


def test_everything_a_recipe_can_say_reads_back(tmp_path):
    data = json.loads(json.dumps(canonical(typed(tmp_path, RICH))))
    assert canonical(from_canonical(data)) == data
    assert from_canonical(data).settings.evaluate.tasks[1].samples == 4


def test_defaults_are_written_out(tmp_path):
    data = canonical(typed(tmp_path, recipe_text()))
    assert data["axes"]["gate"] == {"axis": "gate", "choice": "clip", "version": 1,
                                    "params": {"low": 0.2, "high": 0.2, "dual": None}}
    assert data["settings"]["optim"]["clip_grad"] == 1.0


@pytest.mark.parametrize(("axis", "one", "other"), [
    ("feedback", "verify(exact) + 0.1 * overlong", "overlong * 0.1 + verify(exact)"),
    ("feedback", "2 * (verify(exact) + overlong)", "verify(exact) * 2 + 2 * overlong"),
    ("feedback", "1 * verify(exact)", "verify(exact)"),
    ("feedback", "(verify(exact) * 2) * (3 * verify(json))", "6 * verify(exact) * verify(json)"),
    ("gate", "clip(0.2) + kl(0.1) + entropy(0.1)", "entropy(0.1) + kl(0.1) + clip(0.2)"),
    ("gate", "clip(0.2)", "clip(high: 20 / 100, low: 0.2, dual: none)"),
    ("distribution", "tis + max_lag(2)", "max_lag(2) + tis"),
])
def test_equal_meanings_have_equal_forms(tmp_path, axis, one, other):
    a, b = (canonical(typed(tmp_path, recipe_text(**{axis: text}))) for text in (one, other))
    assert a == b


def test_the_first_measure_of_correctness_keeps_its_place(tmp_path):
    a, b = (canonical(typed(tmp_path, recipe_text(feedback=text)))["axes"]["feedback"]
            for text in ("verify(exact) + verify(json)", "verify(json) + verify(exact)"))
    assert a != b


def test_another_version_of_a_choice_is_refused(tmp_path):
    data = canonical(typed(tmp_path, recipe_text()))
    for change in ({"version": 2}, {"choice": "gone"}, {"package": "other 1.0"}):
        gate = {**data["axes"]["gate"], **change}
        with pytest.raises(RecipeError) as caught:
            from_canonical({**data, "axes": {**data["axes"], "gate": gate}})
        assert [d.code for d in caught.value.diagnostics] == ["RL407"]


# ── fingerprints ─────────────────────────────────────────────────────────────────────────────────────

def prints(folder, text, name=None, **options):
    return fingerprints(typed(folder, text, name, **options))


PLAIN = recipe_text(body='optim { adamw(lr: 1e-6) }\ndata { train: "x", prompts: 16 }')


def test_how_it_is_written_does_not_matter(tmp_path):
    lines = PLAIN.splitlines()
    shuffled = "\n".join([lines[0], *reversed(lines[1:-1]), lines[-1]])
    commented = "# a comment\n" + PLAIN.replace("\n", "   # why\n")
    constants = "let n = 4 * 2\nlet long = 0.5k + 12\n" + PLAIN.replace("group(8, max_tokens: 512)",
                                                                       "group(n, max_tokens: long)")
    inherited = recipe_text(gate="none", advantage="rloo") + "recipe x extends base {\n" + "\n".join(lines[1:]) + "\n"
    documented = PLAIN.replace("{\n", '{\n  "Documented."\n', 1).replace("recipe base", "recipe other")
    expected = prints(tmp_path, PLAIN)
    assert prints(tmp_path, shuffled) == prints(tmp_path, commented) == expected
    assert prints(tmp_path, constants) == prints(tmp_path, documented) == expected
    assert prints(tmp_path, inherited, "x") == expected


@pytest.mark.parametrize(("setting", "moved"), [
    ("gate.high=0.3", {"objective", "experiment"}), ("optim.lr=1e-5", {"objective", "experiment"}),
    ("model.dtype=bf16", {"objective", "experiment"}), ("feedback.timeout=10s", {"objective", "experiment"}),
    ("budget.steps=3", {"objective", "experiment"}), ('data.template="x"', {"objective", "experiment"}),
    ("system=one_step_off on colocated", {"objective", "experiment"}),
    ("data.prompts=8", {"data", "experiment"}), ('evaluate="toy:addition"', {"data", "experiment"}),
    ("system=sync on disaggregated(rollout: 1, train: 1)", {"placement"}), ("cluster.nodes=2", {"placement"}),
    ("cluster.micro_tokens=1k", {"placement"}), ("seed=2", {"experiment"}),
    ("track.mlflow=none", set()), ("evidence.seeds=3", set()),
])
def test_what_moves_which_fingerprint(tmp_path, setting, moved):
    before, after = prints(tmp_path, PLAIN), prints(tmp_path, PLAIN, sets=[setting])
    assert {name for name in vars(before) if getattr(before, name) != getattr(after, name)} == moved


def test_aliases_are_one_value(tmp_path):
    assert prints(tmp_path, PLAIN, sets=["model.dtype=bf16"]) == prints(tmp_path, PLAIN, sets=["model.dtype=bfloat16"])
