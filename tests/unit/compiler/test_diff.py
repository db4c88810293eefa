"""Typed changes between recipes: their kinds, their sentences, and that they say exactly what fingerprints say."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rldsl.compiler import diff as kinds
from rldsl.compiler.canonical import canonical
from rldsl.compiler.diff import diff
from rldsl.compiler.difference import compare, to_json, to_text
from rldsl.compiler.fingerprint import fingerprints
from rldsl.compiler.resolve import resolve
from rldsl.compiler.resolve.load import library_root

from .resolve.project import AXES, recipe_text, typed

BODY = 'optim { adamw(lr: 1e-6) }\ndata { prompts: 16 }\nevaluate { gsm8k }'


def changes(folder, sets=(), **axes):
    before = typed(folder, recipe_text(body=BODY))
    after = typed(folder, recipe_text(body=BODY, **axes), sets=sets)
    return diff(before, after)


@pytest.mark.parametrize(("axes", "kind", "says"), [
    ({"gate": "cispo"}, kinds.ChoiceReplaced, "gate: clip is replaced by cispo."),
    ({"gate": "clip(0.2, high: 0.28)"}, kinds.ParameterChanged, "gate: `high` of clip goes from 0.2 to 0.28."),
    ({"gate": "clip(0.2) + kl(0.1)"}, kinds.TermAdded, "gate: kl(0.1) is added."),
    ({"feedback": "verify(math) + overlong"}, kinds.TermAdded, "feedback: overlong is added."),
    ({"feedback": "0.5 * verify(math)"}, kinds.WeightChanged,
     "feedback: the weight of verify(math) goes from 1 to 0.5."),
    ({"feedback": "verify(exact)"}, kinds.ParameterChanged, "feedback: `how` of verify goes from math to exact."),
    ({"feedback": 'verify(math) * format("a", reward: 1)'}, kinds.ChoiceReplaced, "feedback: verify(math) is replaced"),
    ({"sampling": "single(max_tokens: 512)"}, kinds.ChoiceReplaced, "sampling: group(8, max_tokens: 512) is replaced"),
    ({"sampling": "group(8, max_tokens: 512) | keep(mixed)"}, kinds.TermAdded, "sampling: keep(mixed) is added."),
    ({"distribution": "tis"}, kinds.TermRemoved, "distribution: on_policy is removed."),
    ({"system": "sync on disaggregated(rollout: 1, train: 1)"}, kinds.ChoiceReplaced, "system: colocated is replaced"),
])
def test_changes_on_axes(tmp_path, axes, kind, says):
    first, *_ = changes(tmp_path, **axes)
    assert type(first) is kind and first.sentence.startswith(says)


@pytest.mark.parametrize(("setting", "kind", "says"), [
    ("data.prompts=8", kinds.SettingChanged, "data: `prompts` goes from 16 to 8."),
    ("optim.lr=1e-5", kinds.ParameterChanged, "optim: `lr` of adamw goes from 1e-6 to 1e-5."),
    ("optim=sgd(lr: 1)", kinds.ChoiceReplaced, "optim: adamw(lr: 1e-6) is replaced by sgd(lr: 1)."),
    ("evaluate=gsm8k(samples: 4)", kinds.TermRemoved, "evaluate: gsm8k is removed."),
    ("seed=3", kinds.SeedChanged, "seed: goes from 1 to 3"),
])
def test_changes_of_settings(tmp_path, setting, kind, says):
    first, *_ = changes(tmp_path, [setting])
    assert type(first) is kind and first.sentence.startswith(says)


def test_a_term_removed_is_the_mirror_of_a_term_added(tmp_path):
    a, b = (typed(tmp_path, recipe_text(gate=g)) for g in ("clip(0.2) + kl(0.1)", "clip(0.2)"))
    assert [type(c) for c in diff(a, b)] == [kinds.TermRemoved]
    assert [type(c) for c in diff(b, a)] == [kinds.TermAdded]


def test_order_where_it_matters(tmp_path):
    a, b = (typed(tmp_path, recipe_text(feedback=f)) for f in
            ("verify(exact) + verify(json)", "verify(json) + verify(exact)"))
    assert [type(c) for c in diff(a, b)] == [kinds.OrderChanged]


def test_a_new_version_of_a_choice_is_another_meaning(tmp_path):
    data = canonical(typed(tmp_path, recipe_text()))
    newer = {**data, "axes": {**data["axes"], "gate": {**data["axes"]["gate"], "version": 2}}}
    change, = diff(data, newer)
    assert isinstance(change, kinds.MeaningChanged) and "version 1 became version 2" in change.sentence


def test_what_moves_no_fingerprint_is_no_change(tmp_path):
    assert changes(tmp_path, ["track.mlflow=none", "evidence.seeds=4"]) == []


@pytest.mark.parametrize(("sets", "note"), [
    ([], "Nothing"), (["gate.high=0.3"], "Only the axis gate differs"), (["cluster.nodes=2"], "the same experiment"),
    (["optim.lr=1"], "Only the optim settings differs"), (["gate.high=0.3", "advantage=rloo"], "cannot be attributed"),
    (["seed=2"], "the same experiment"),
])
def test_whether_a_gain_has_one_cause(tmp_path, sets, note):
    before = typed(tmp_path, recipe_text(body=BODY))
    after = typed(tmp_path, recipe_text(body=BODY), sets=sets)
    assert note in compare(before, after).note


def test_what_follows_for_models_forwards_and_cost():
    grpo, dapo = (resolve(str(library_root() / "algorithms" / f"{n}.rl")) for n in ("grpo", "dapo"))
    found = compare(grpo, dapo)
    assert "A frozen reference model is no longer needed." in found.consequences
    assert "One forward pass less per batch: logp_ref." in found.consequences
    assert "Responses per batch: 1024 becomes 8192." in found.consequences
    assert set(found.axes) == {"feedback", "sampling", "gate", "reduction"} and set(found.settings) == {"optim", "data"}
    assert json.loads(json.dumps(to_json(found)))["axes"] == list(found.axes)
    assert all(c.sentence in to_text(found) for c in found.changes)


# ── fingerprints equal ⇔ no changes ──────────────────────────────────────────────────────────────────

OPTIONS = {
    "feedback": [AXES["feedback"], "verify(exact)", "verify(math) + overlong", "overlong + verify(math)",
                 "0.5 * verify(math) + overlong", "verify(exact) * verify(json)", "verify(json) * verify(exact)",
                 "2 * (verify(math) + overlong)", "2 * verify(math) + overlong * 2"],
    "sampling": [AXES["sampling"], "group(4 * 2, max_tokens: 0.5k + 12)", "group(8, max_tokens: 9) | keep(mixed)"],
    "gate": [AXES["gate"], "clip", "clip(0.2, high: 0.2)", "clip + kl(0.1)", "kl(0.1) + clip", "cispo",
             "clip + entropy(0.1) + kl(0.1)"],
    "advantage": [AXES["advantage"], "group_norm(eps: 0.000001)", "group_norm(std: sample)", "group_mean"],
    "distribution": [AXES["distribution"], "tis + max_lag(1)", "max_lag(1) + tis", "tis(2)"],
    "system": [AXES["system"], "sync on disaggregated(rollout: 1, train: 1)"],
}
BODIES = ["", "data { prompts: 8 }", "data { prompts: 4 * 2 }",
          "optim { adamw(lr: 1e-6) }", "optim { adamw(lr: 0.000001) }",
          "seed = 2", "seed = 1", "cluster { nodes: 2 }", "track { mlflow: none }", "evaluate { gsm8k, every: 20 }",
          "evaluate { gsm8k }", "model { dtype: bf16 }", "model { dtype: bfloat16 }"]
picks = st.fixed_dictionaries({**{axis: st.sampled_from(texts) for axis, texts in OPTIONS.items()},
                               "body": st.sampled_from(BODIES)})


@settings(max_examples=100, deadline=None)
@given(picks, picks, st.sets(st.sampled_from([*OPTIONS, "body"]), max_size=2))
def test_fingerprints_are_equal_exactly_when_nothing_changed(tmp_path_factory, one, other, changed):
    folder = tmp_path_factory.mktemp("pair")
    a, b = (typed(folder, recipe_text(**x)) for x in (one, {**one, **{axis: other[axis] for axis in changed}}))
    found, before, after = diff(a, b), fingerprints(a), fingerprints(b)
    assert (found == []) == (before == after)
    assert {c.moves for c in found} - {"seed"} \
        == {n for n in ("objective", "data", "placement") if getattr(before, n) != getattr(after, n)}
    assert len(diff(b, a)) == len(found)
