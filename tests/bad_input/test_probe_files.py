"""BATCH.json with everything that can be wrong in it; null rewards and empty responses are not wrong."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from .answers import call, civil, refused

ROW = {"prompt": "p", "reward": 1.0, "logp_current": [-1.0], "logp_old": [-1.0]}


def batch(**first) -> str:
    """Two responses to one prompt, the first of them changed."""
    return json.dumps({"responses": [{**ROW, **first}, {**ROW, "reward": 0.0}]})


def without(name: str) -> str:
    return json.dumps({"responses": [{k: v for k, v in ROW.items() if k != name}, ROW]})


TEXTS = {
    "nothing": ("", "RL203", "is not JSON"),
    "half": ('{"responses": [{"prompt": "p", "rew', "RL203", "is not JSON"),
    "a list": ("[]", "RL203", 'must be an object.\n   = fix: Write {"responses": [{"prompt"'),
    "null": ("null", "RL203", "must be an object"),
    "no responses": ("{}", "RL205", "`responses` or `pairs`"),
    "none in the list": ('{"responses": []}', "RL205", "`responses` or `pairs`"),
    "a number for a response": ('{"responses": [1]}', "RL203", "`responses[0]` must be an object"),
    "no prompt": (without("prompt"), "RL205", "`responses[0].prompt` is missing"),
    "no reward": (without("reward"), "RL205", "reward` is missing.\n   = fix: Give it; null means: no score"),
    "no log-prob": (without("logp_current"), "RL205", "`responses[0].logp_current` is missing"),
    "no old log-prob": (without("logp_old"), "RL205", "`responses[0].logp_old` is missing; the recipe's objective"),
    "unequal lengths": (batch(logp_old=[-1.0, -2.0]), "RL203", "has 2 entries where `logp_current` has 1"),
    "unknown field": (batch(logp_curent=[-1.0]), "RL205", "unknown field `responses[0].logp_curent`"),
    "unknown field outside": (json.dumps({"responses": [ROW], "trainer": 1}), "RL205", "unknown field `trainer`"),
    "NaN": (batch(logp_current=[float("nan")]), "RL204", "`responses[0].logp_current` must be finite"),
    "infinity": (batch(logp_old=[float("-inf")]), "RL204", "`responses[0].logp_old` must be finite"),
    "NaN reward": (batch(reward=float("nan")), "RL204", "`responses[0].reward` must be finite"),
    "overflow": (batch().replace("1.0", "1e999", 1), "RL204", "must be finite"),
    "text for a number": (batch(logp_current=["-1"]), "RL203", "`responses[0].logp_current[0]` must be a number"),
    "true for a number": (batch(reward=True), "RL203", "`responses[0].reward` must be a number"),
    "null for a log-prob": (batch(logp_current=[None]), "RL203", "`responses[0].logp_current[0]` must be a number"),
    "a list for a prompt": (batch(prompt=["p"]), "RL203", "`responses[0].prompt` must be text"),
    "a field twice": ('{"responses": [], "responses": []}', "RL203", "`responses` is given twice"),
    "100,000 brackets": ("[" * 100_000, "RL203", "nested too deep"),
    "5,000 digits": (batch(reward=0.5).replace("0.5", "9" * 5000), "RL203", "is not JSON"),
    "labels that come back": (batch(logp_current=[-1.0] * 3, logp_old=[-1.0] * 3, turns=[0, 1, 0]), "RL204", "turns"),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_batch_that_cannot_be_read(project, capsys, kind: str) -> None:
    text, code, says = TEXTS[kind]
    Path("batch.json").write_text(text)
    refused(capsys, 1, code, "batch.json", says, argv=["probe", "tiny.rl", "batch.json"])


def test_every_wrong_place_is_said_at_once(project, capsys) -> None:
    rows = [{**ROW, "logp_old": []}, {**ROW, "reward": float("inf")}]
    Path("batch.json").write_text(json.dumps({"responses": rows}))
    refused(capsys, 1, "RL203", "responses[0].logp_old", "responses[1].reward", argv=["probe", "tiny.rl", "batch.json"])


@pytest.mark.parametrize("make, says", [(lambda p: p.write_bytes(b"\xff\xfe"), "not UTF-8"),
                                        (lambda p: p.mkdir(), "directory"), (lambda p: None, "No such file")])
def test_a_file_that_cannot_be_read(project, capsys, make, says: str) -> None:
    make(Path("batch.json"))
    refused(capsys, 4, "RL407", "batch.json", says, argv=["probe", "tiny.rl", "batch.json"])


def probed(capsys, text: str) -> dict:
    Path("batch.json").write_text(text)
    answer = call(capsys, "probe", "tiny.rl", "batch.json", "--format", "json")
    civil(answer)
    assert answer.code == 0, answer.text
    return json.loads(answer.text)


def test_a_null_reward_is_no_score_and_leaves_the_statistics(project, capsys) -> None:
    found = probed(capsys, json.dumps({"responses": [ROW, {**ROW, "reward": 0.0}, {**ROW, "reward": None}]}))
    assert [r["kept"] for r in found["responses"]] == [True, True, False]
    assert [r["advantage"] for r in found["responses"][:2]] == [[0.5], [-0.5]]


def test_a_batch_without_any_score_is_nothing(project, capsys) -> None:
    found = probed(capsys, batch(reward=None).replace("0.0", "null"))
    assert found["objective"] == 0 and not any(r["kept"] for r in found["responses"])


def test_a_response_without_tokens_has_a_reward_and_no_gradient(project, capsys) -> None:
    found = probed(capsys, batch(logp_current=[], logp_old=[]))
    first, second = found["responses"]
    assert (first["kept"], first["gradient"], second["advantage"]) == (True, [], [-0.5])
    assert found["objective"] == -0.5


@pytest.mark.parametrize("changed, says", [
    ({"logp_current": [0.5]}, "responses[0].logp_current holds 0.5: the log-prob of a token is at most 0"),
    ({"logp_old": [1e-3]}, "responses[0].logp_old holds 0.001: the log-prob of a token is at most 0"),
    ({"versions": [-3]}, "responses[0].versions holds -3: versions count from 0"),
    ({"logp_current": [1e-9]}, None), ({"versions": [0]}, None)])
def test_what_no_engine_can_have_recorded_is_said(project, capsys, changed, says) -> None:
    found = [w for w in probed(capsys, batch(**changed))["warnings"] if "responses where" not in w]
    assert found == ([says] if says else [])


def test_a_version_after_the_trainers_is_said(project, capsys) -> None:
    text = json.dumps({"trainer_version": 2, "responses": [{**ROW, "versions": [3]}, {**ROW, "versions": [2]}]})
    found = [w for w in probed(capsys, text)["warnings"] if "newer" in w]
    assert found == ["responses[0].versions holds 3, which is newer than the trainer's 2"]


def test_standard_input_is_called_by_its_name(project, capsys, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("[]"))
    refused(capsys, 1, "RL203", "Standard input must be an object", argv=["probe", "tiny.rl", "-"])


HUGE = [{"logp_current": [-1e308], "logp_old": [-1e308]}, {"reward": 1e308}, {"reward": -1e308}]


@pytest.mark.parametrize("changed", HUGE)
@pytest.mark.parametrize("advantage", ["group_mean", "group_norm", "rloo", "batch_norm"])
def test_a_result_is_finite_or_the_largest_number_is_named(project, capsys, changed, advantage) -> None:
    Path("batch.json").write_text(json.dumps({"responses": [{**ROW, **changed}, {**ROW, "reward": -1e308}]}))
    answer = call(capsys, "probe", "tiny.rl", "batch.json", "--set", f"advantage={advantage}", "--format", "json")
    civil(answer)
    assert ": Infinity" not in answer.text and ": -Infinity" not in answer.text and ": NaN" not in answer.text
    assert answer.code == 0 or answer.says("RL204", "beyond double precision", "`responses[", "e+308")


@pytest.mark.parametrize("field, value, says", [
    ("versions", [10 ** 400], "responses[0].versions` must be finite"),
    ("agent", 10 ** 400, "responses[0].agent` must be finite"),
    ("scores", {"verify": float("nan")}, "responses[0].scores.verify` must be finite")])
def test_a_number_that_double_precision_cannot_hold(project, capsys, field, value, says) -> None:
    Path("batch.json").write_text(batch(**{field: value}))
    refused(capsys, 1, "RL204", says, argv=["probe", "tiny.rl", "batch.json"])


@pytest.mark.parametrize("beside, says", [
    ({"logp_pretrain": float("inf")}, "`logp_pretrain` must be finite"),
    ({"state": {"kl": {"coef": float("nan")}}}, "`state.kl.coef` must be finite"),
    ({"trainer_version": 10 ** 400}, "`trainer_version` must be finite")])
def test_numbers_beside_the_responses_are_finite_too(project, capsys, beside, says) -> None:
    Path("batch.json").write_text(json.dumps({**json.loads(batch()), **beside}))
    refused(capsys, 1, "RL204", says, argv=["probe", "tiny.rl", "batch.json"])
