"""Models that score: replies as their own softmax says, classifiers as transformers computes them, in training."""

from __future__ import annotations

import pytest
import torch
from transformers import LlamaConfig, LlamaForSequenceClassification, Qwen3Config, Qwen3ForSequenceClassification

from rldsl.backends.local.data import Model
from rldsl.backends.local.formats.tokenizer import CharacterTokenizer
from rldsl.backends.local.judging.hf_classifier import folder_classifier
from rldsl.backends.local.judging.judges import Classifier, replies, train_classifier, valued
from rldsl.backends.local.load import load_policy
from rldsl.backends.local.training.forward import Critic
from rldsl.diagnostics import RecipeError
from rldsl.runtime import event_loop
from rldsl.runtime.executor import execute, make_batch, phases
from rldsl.runtime.journal import read_journal
from rldsl.runtime.protocols import Cutting
from tests.learning.training import opened

SIZES = {"vocab_size": 97, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 6,
         "num_key_value_heads": 2, "max_position_embeddings": 64, "eos_token_id": 0, "pad_token_id": 0,
         "initializer_range": 0.2, "num_labels": 1}
CUTS = [Cutting(None, True, True), Cutting(20, False, False)]


@pytest.fixture
def judge():
    policy, tokenizer = load_policy("toy:llama-1x32", "float32", 0)
    return Model(policy, tokenizer)


@pytest.mark.parametrize("cut", CUTS)
def test_a_reply_s_likelihood_is_that_of_its_tokens_and_its_end(judge, cut):
    asked = [("is it?", "yes"), ("is it?", "no"), ("or this", "")]
    found = replies(judge, asked, cut)
    for (question, text), logp in zip(asked, found, strict=True):
        ids = judge.encode(question) + judge.reply(text)
        alone = replies(judge, [(question, text)], CUTS[0])[0]
        assert logp == pytest.approx(alone, abs=1e-5) and len(ids) > len(judge.encode(question))
    assert replies(judge, [("x" * 600, "y"), ("x", "y")], cut)[0] is None


@pytest.mark.parametrize("config, cls", [(LlamaConfig(**SIZES), LlamaForSequenceClassification),
                                         (Qwen3Config(**SIZES, head_dim=8), Qwen3ForSequenceClassification)])
def test_a_classifier_s_number_is_transformers_own(config, cls, tmp_path, monkeypatch):
    torch.manual_seed(0)
    theirs = cls(config).eval()
    theirs.save_pretrained(tmp_path)
    monkeypatch.setattr("rldsl.backends.local.judging.hf_classifier.folder_tokenizer", lambda *_: CharacterTokenizer())
    ours = folder_classifier(tmp_path, torch.float32)
    texts = [("12+3=", "15"), ("a", ""), ("12+3=", "7")]
    for cut in CUTS:
        found = valued(ours, texts, cut)
        for (prompt, response), value in zip(texts, found, strict=True):
            ids = torch.tensor([ours.model.encode(prompt) + ours.model.reply(response)])
            expected = theirs(ids, attention_mask=torch.ones_like(ids))
            pooled = theirs.score(theirs.model(ids).last_hidden_state[:, -1])  # the end may be the padding id
            assert value == pytest.approx(pooled.item(), abs=1e-5) and expected.logits.shape == (1, 1)


def test_a_model_that_is_no_classifier_is_refused(tmp_path, monkeypatch):
    theirs = LlamaForSequenceClassification(LlamaConfig(**SIZES | {"num_labels": 2}))
    theirs.save_pretrained(tmp_path)
    with pytest.raises(RecipeError) as found:
        folder_classifier(tmp_path, torch.float32)
    assert found.value.diagnostics[0].code == "RL407" and "one label" in found.value.diagnostics[0].message


def test_a_classifier_learns_to_prefer():
    policy, tokenizer = load_policy("toy:llama-1x32", "float32", 0)
    classifier = Classifier(Critic(policy), Model(policy, tokenizer))
    pairs = [(f"{c}=", c, "z") for c in "abcdefgh"]
    assert train_classifier(classifier, pairs, 30) < 0.1
    good, bad = (valued(classifier, [(p, t[k]) for p, *t in pairs], CUTS[0]) for k in (0, 1))
    assert all(a > b for a, b in zip(good, bad, strict=True))


RECIPE = """recipe r {
  feedback = FEEDBACK
  sampling = group(4, max_tokens: 6)
  advantage = group_norm
  ratio = token(current / old)
  gate = none
  reduction = token_mean
  distribution = on_policy
  system = sync on colocated
  model { policy: "toy:llama-1x32", dtype: float32 ROLES }
  data { train: "toy:reverse", prompts: 4 }
  optim { adamw(lr: 1e-3) }
  budget { steps: 2 }
  evaluate { "toy:reverse", problems: 4, samples: 2 }
}
"""
JUDGE = ', judge: "toy:llama-1x32", judge_warm_start: 2'
PAIR = '"{prompt}\\n1:{response}\\n2:{other}\\n"'
SOURCES = {
    'judge(rubric: ["{prompt}{response}?"], yes: "y", no: "n")': JUDGE,
    'self_judge(rubric: ["{response}?", "{response} or {answer}?"], weights: current)': "",
    'self_judge(rubric: ["{response}?"], weights: initial)': "",
    f"pairwise(against: reference, question: {PAIR}, verbosity: 1.5, usual: 3)": JUDGE,
    f"pairwise(against: all, question: {PAIR})": JUDGE,
    'verify(exact) + meta_rm(0.5, question: "{response} sound?")': JUDGE,
    "reward_model": ', reward: "toy:llama-1x16", judge_warm_start: 2',
}


@pytest.mark.parametrize("feedback, roles", SOURCES.items())
def test_it_scores_in_training(feedback, roles, tmp_path):
    with opened(tmp_path, RECIPE.replace("FEEDBACK", feedback).replace("ROLES", roles)) as run:
        work = make_batch(run, phases(run.graph)[0], 0)
        scores = work.table.math.numbers(work.table.columns["scores"].data)
        assert len(scores) == 16 and len(set(scores)) > (1 if "meta_rm" not in feedback else 0)
        if "reward_model" not in feedback and "meta_rm" not in feedback:
            assert all(0 <= s <= 1 for s in scores)
        execute(run)
    assert run.progress.batch == 2


def test_responses_that_come_one_by_one_are_judged_group_by_group(tmp_path):
    text = RECIPE.replace("sync on", "partial(0.5) on").replace("on_policy", "max_lag(8)")
    with opened(tmp_path, text.replace("FEEDBACK", f"pairwise(against: all, question: {PAIR})").replace(
            "ROLES", JUDGE)) as run:
        event_loop.execute(run, run.stream)
        assert run.progress.batch == 2
    steps = [e.data["metrics"] for e in read_journal(tmp_path) if e.kind == "step"]
    assert all(m["responses/unscored"] == 0 and m["reward/mean"] == pytest.approx(0.5) for m in steps), "a win rate"


def test_what_judges_itself_moves_with_the_policy_or_does_not(tmp_path):
    for weights in ("current", "initial"):
        feedback = f'self_judge(rubric: ["{{response}}?"], weights: {weights})'
        with opened(tmp_path / weights, RECIPE.replace("FEEDBACK", feedback).replace("ROLES", "")) as run:
            role = {"current": "policy", "initial": "initial"}[weights]
            execute(run)
            before = run.trainer.replies(role, [("a?", "yes")], CUTS[0])
            with torch.no_grad():
                run.trainer.policy.embed.add_(0.1 * torch.randn_like(run.trainer.policy.embed))
            assert (run.trainer.replies(role, [("a?", "yes")], CUTS[0]) == before) == (weights == "initial")
