"""What is learned without a reward: from stored preferences, from labels, from a teacher."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from rldsl.algebra.divergence import Divergence
from rldsl.backends.local.launch import open_run
from rldsl.backends.local.training.teachers import Teachers
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.resolve import resolve
from rldsl.diagnostics import RecipeError
from rldsl.runtime.executor import make_batch, phases, walk
from rldsl.runtime.stages_data import cutting
from rldsl.runtime.work import Work

COMMON = """recipe r {{
  feedback = {feedback}
  sampling = {sampling}
  advantage = {advantage}
  ratio = none
  gate = {gate}
  reduction = {reduction}
  distribution = on_policy
  system = sync on colocated
  model {{ policy: "toy:llama-1x32", dtype: float32{model} }}
  data {{ train: "{train}", prompts: 16 }}
  optim {{ adamw(lr: 2e-3) }}
  budget {{ steps: 12 }}
}}
"""
PLAIN = {"feedback": "preferences", "sampling": "offline(pairs, max_tokens: 6)", "advantage": "none",
         "gate": "dpo(0.5)", "reduction": "sequence_mean", "model": "", "train": "toy:reverse"}


@contextmanager
def opened(tmp_path, **parts):
    """A run of a recipe before its first batch, its first checkpoint written."""
    file = tmp_path / "r.rl"
    file.write_text(COMMON.format(**{**PLAIN, **parts}))
    plan = compile_recipe(resolve(str(file)))[0]
    with open_run(plan, tmp_path / "run", tmp_path, lambda *_: None, resume=False) as run:
        walk(run, Work(0), [n for n in phases(run.graph)[2] if n.kind == "checkpoint"])
        yield run


def train(run, batches=12):
    """The numbers of each batch."""
    make, learn, _ = phases(run.graph)
    found = []
    for batch in range(batches):
        work = make_batch(run, make, batch)
        walk(run, work, learn)
        run.progress.batch = batch + 1
        found.append(work.tally.means())
    return found


def likelihoods(run, rows, policy="current"):
    """Σ log π per row."""
    name = {"current": "logp_current", "teacher": "logp_teacher"}[policy]
    flat = run.trainer.logprobs(policy, rows, [name], cutting(run.graph.node("update")))[name].tolist()
    ends = [sum(len(r.tokens) for r in rows[:i + 1]) for i in range(len(rows))]
    return [sum(flat[end - len(r.tokens):end]) for end, r in zip(ends, rows, strict=True)]


def margin(run, rows):
    """Mean log-likelihood of good responses minus that of the others."""
    found = [(r.verdict, x) for r, x in zip(rows, likelihoods(run, rows), strict=True)]
    good, bad = ([x for v, x in found if v == want] for want in (1, 0))
    return sum(good) / len(good) - sum(bad) / len(bad)


@pytest.mark.parametrize("gate", ["dpo(0.5)", "ipo(0.5)", "simpo(2.0, 0.5)", "orpo(lambda: 1)"])
def test_pairs_teach_to_prefer(gate, tmp_path):
    """At the start the policy is the reference, so dpo's loss is ln 2; the margin grows on pairs never trained on."""
    with opened(tmp_path, gate=gate) as run:
        unseen = make_batch(run, phases(run.graph)[0], 99).rows()
        before, steps = margin(run, unseen), train(run)
        assert margin(run, unseen) > before + 0.3
        if gate == "dpo(0.5)":
            assert steps[0]["objective/policy"] == pytest.approx(-0.6931472, abs=1e-6)
        assert steps[-1]["objective/policy"] > steps[0]["objective/policy"]


def test_labels_teach_without_pairs(tmp_path):
    with opened(tmp_path, sampling="offline(labels, max_tokens: 6)", gate="kto(0.5)") as run:
        unseen = make_batch(run, phases(run.graph)[0], 99).rows()
        before, steps = margin(run, unseen), train(run)
        assert margin(run, unseen) > before + 0.3 and steps[-1]["objective/policy"] > steps[0]["objective/policy"]


def test_a_student_comes_nearer_to_its_teacher(tmp_path):
    """The mean of log π − log π_T over the student's own responses, its reverse KL, falls."""
    parts = {"feedback": "verify(exact)", "sampling": "student(max_tokens: 6)", "advantage": "teacher", "gate": "none",
             "reduction": "token_mean", "model": ', teachers: ["toy:llama-1x32"], teacher_warm_start: 40'}
    with opened(tmp_path, **parts) as run:
        make = phases(run.graph)[0]

        def distance():
            rows = make_batch(run, make, 99).rows()
            gaps = zip(likelihoods(run, rows), likelihoods(run, rows, "teacher"), strict=True)
            return sum(own - taught for own, taught in gaps) / sum(len(r.tokens) for r in rows)

        before = distance()
        train(run)
        assert distance() < 0.7 * before


def test_a_teacher_with_other_tokens_is_refused(tmp_path, monkeypatch):
    from rldsl.backends.local import load_teachers

    loaded = load_teachers.named_policy

    def other(spec, *rest, **named):
        policy, tokenizer = loaded(spec, *rest, **named)
        if spec == "toy:llama-1x16":
            tokenizer.size += 1
        return policy, tokenizer

    monkeypatch.setattr(load_teachers, "named_policy", other)
    parts = {"feedback": "verify(exact)", "sampling": "student(max_tokens: 6)", "advantage": "teacher", "gate": "none",
             "reduction": "token_mean", "model": ', teachers: ["toy:llama-1x16"]'}
    with pytest.raises(RecipeError) as found, opened(tmp_path, **parts):
        pass
    assert [d.code for d in found.value.diagnostics] == ["RL321"]


STUDENT = {"feedback": "verify(exact)", "sampling": "student(max_tokens: 6)", "advantage": "teacher", "gate": "none",
           "reduction": "token_mean"}
TWO = ', teachers: ["toy:llama-1x16", "toy:llama-1x32"]'


def test_several_teachers_without_a_word_on_who_scores_what_are_refused(tmp_path):
    with pytest.raises(RecipeError) as found, opened(tmp_path, **STUDENT, model=TWO):
        pass
    (only,) = found.value.diagnostics
    assert only.code == "RL321" and "names 2" in only.message and "teaching: mean" in only.fix


@pytest.mark.parametrize("divergence", ["reverse_kl", "forward_kl", "jsd"])
@pytest.mark.parametrize("over", ["full", "top_k(8)", "sampled"])
def test_a_distribution_comes_nearer_to_the_mean_of_two_teachers(divergence, over, tmp_path):
    parts = {**STUDENT, "advantage": "none", "gate": f"distill({divergence}, over: {over})",
             "model": TWO + ", teaching: mean, teacher_warm_start: 60"}
    with opened(tmp_path, **parts) as run:
        make, what = phases(run.graph)[0], Divergence(divergence, 8 if over == "top_k(8)" else None).name

        def distance():
            rows = make_batch(run, make, 99).rows()
            found = run.trainer.logprobs("current", rows, [what], cutting(run.graph.node("update")))[what]
            return float(found.mean())

        before = distance()
        train(run)
        assert distance() < (0.95 if over == "sampled" else 0.7) * before


def test_a_column_of_the_data_names_each_row_s_teacher(tmp_path):
    lines = [f'{{"prompt": "{c}=", "answer": "{c}", "domain": "{t}"}}'
             for c, t in zip("abcdefgh", ["toy:llama-1x16", "toy:llama-1x32"] * 4, strict=True)]
    (tmp_path / "data.jsonl").write_text("\n".join(lines) + "\n")
    parts = {**STUDENT, "model": TWO + ', teaching: "domain"', "train": "data.jsonl"}
    with opened(tmp_path, **parts) as run:
        rows = make_batch(run, phases(run.graph)[0], 0).rows()
        domains = {r.row: run.data.problem(r.row).metadata["domain"] for r in rows}
        found = likelihoods(run, rows, "teacher")
        alone = {}
        for name, model in zip(("toy:llama-1x16", "toy:llama-1x32"), run.trainer._teachers.models, strict=True):
            run.trainer._teachers = Teachers((model,))
            alone[name] = likelihoods(run, rows, "teacher")
    assert found == pytest.approx([alone[domains[r.row]][i] for i, r in enumerate(rows)])
    (tmp_path / "data.jsonl").write_text("\n".join(lines).replace("1x32", "9x99") + "\n")
    with pytest.raises(RecipeError) as refused, opened(tmp_path, **parts):
        pass
    assert refused.value.diagnostics[0].code == "RL407" and "4 of 8 rows" in refused.value.diagnostics[0].message


def test_rows_without_responses_are_refused_before_anything_runs(tmp_path):
    rows = ('{"prompt": "a=", "chosen": "b", "rejected": "c"}', '{"prompt": "b=", "chosen": "b"}')
    (tmp_path / "data.jsonl").write_text("\n".join(rows) + "\n")
    with pytest.raises(RecipeError) as found, opened(tmp_path, train="data.jsonl"):
        pass
    (only,) = found.value.diagnostics
    assert only.code == "RL407" and "1 of 2 rows" in only.message and "'rejected'" in only.why
