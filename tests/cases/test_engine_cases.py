"""What the local engine must do in cases that once hurt somebody; named after the public report's id."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from rldsl.backends.local import engine as local_engine
from rldsl.backends.local.decoder.model import fingerprint
from rldsl.backends.local.decoder.trained_part import rounded_away
from rldsl.backends.local.formats.hf_weights import exported
from rldsl.backends.local.launch import open_run
from rldsl.backends.local.load import load_policy
from rldsl.backends.local.sampling.stream import LocalStream
from rldsl.backends.local.training import policy as train_policy
from rldsl.backends.local.training.forward import forward
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.resolve import resolve
from rldsl.runtime.errors import RunError
from rldsl.runtime.executor import execute
from rldsl.runtime.journal import kept_events, read_journal
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.trajectory import Request, SamplingOptions, Trajectory
from tests.learning.training import flat, opened

RECIPE = """recipe engine {
  feedback     = verify(regex, pattern: "[a-k]")
  sampling     = group(4, max_tokens: 4)
  advantage    = group_mean
  ratio        = token(current / old)
  gate         = clip(0.2)
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated
  model { policy: "toy:llama-1x32", dtype: float32 }
  data  { train: "toy:largest", prompts: 8 }
  optim { adamw(lr: 1e-3), updates_per_batch: 2 }
  budget { steps: 2 }
  track { mlflow: none }
}
"""
PLAIN = SamplingOptions(1.0, 8)


@pytest.mark.parametrize("quantity", ["advantage", "policy"])
def test_c013_nothing_is_trained_on_a_number_that_is_not_finite(tmp_path, quantity: str) -> None:
    with opened(tmp_path, RECIPE) as run:
        broken = getattr(run.objective, quantity) / 0.0
        if quantity == "advantage":
            run.objective = replace(run.objective, advantage=broken)
        else:
            first, *rest = run.trainer._trainer.terms.parts
            terms = replace(run.trainer._trainer.terms, parts=(replace(first, expr=first.expr / 0.0), *rest))
            run.trainer._trainer = replace(run.trainer._trainer, terms=terms)
        before = fingerprint(run.trainer.policy)
        with pytest.raises(RunError) as caught:
            execute(run)
        said = caught.value.diagnostic
        assert said.code == "RL601" and quantity in said.message and "stage: " in said.message
        assert "no optimizer step" in said.why
        assert fingerprint(run.trainer.policy) == before
        assert not [e for e in read_journal(tmp_path) if e.kind == "step"]


def test_c020_every_sampling_field_is_the_recipes(tmp_path, monkeypatch) -> None:
    asked = []
    honest = local_engine.sample

    def sample(policy, requests, options, **more):
        asked.append(options)
        return honest(policy, requests, options, **more)

    monkeypatch.setattr(local_engine, "sample", sample)
    with opened(tmp_path, RECIPE, "budget.steps=1") as run:
        execute(run)
    assert set(asked) == {SamplingOptions(temperature=1.0, max_tokens=4, top_p=None, top_k=None, stop=())}


def test_c036_a_resume_goes_on_with_rate_moments_and_weights(tmp_path) -> None:
    """Ten batches, against five, a kill and five: bits, rates and Adam's 20 steps are equal."""
    sets = ("budget.steps=10", "optim.schedule=linear", "optim.warmup_steps=3")
    whole, _ = _schedule(tmp_path / "whole", sets, None)
    halves, rates = _schedule(tmp_path / "halves", sets, 7)
    assert torch.equal(halves["policy"], whole["policy"])
    assert halves["moments"] == whole["moments"] == 20
    assert rates == pytest.approx([1e-3 * f for f in (1 / 3, 2 / 3, 1, *(1 - i / 7 for i in range(7)))])


def _schedule(folder: Path, sets: tuple[str, ...], killed: int | None) -> tuple[dict, list[float]]:
    folder.mkdir()
    torch.set_num_threads(1)
    (folder / "r.rl").write_text(RECIPE)
    plan, _ = compile_recipe(resolve(str(folder / "r.rl"), sets=sets))
    plan = replace(plan, graph=plan.graph.change("checkpoint", options={"every": 5}))

    def die(kind, data) -> None:
        if kind == "step" and data["step"] == killed:
            raise KeyboardInterrupt

    if killed is not None:
        with pytest.raises(KeyboardInterrupt), open_run(plan, folder, folder, die, resume=False) as run:
            execute(run)
    with open_run(plan, folder, folder, lambda *_: None, resume=killed is not None) as run:
        execute(run)
        state = run.trainer._trainer.stepper.optimizer.state
        found = {"policy": flat(run.trainer.policy), "moments": {int(s["step"]) for s in state.values()}.pop()}
    steps = [e.data for e in kept_events(read_journal(folder)) if e.kind == "step"]
    assert [s["step"] for s in steps] == list(range(1, 11))
    return found, [s["metrics"]["lr"] for s in steps]


def test_c039_each_phase_is_cut_as_its_own_node_says(tmp_path, monkeypatch) -> None:
    """Eight rows of six tokens: log-probs in pieces of 24 tokens, the update in pieces of 6: 2 forwards, then 8."""
    calls = {True: 0, False: 0}

    def counted(*args, grad, **more):
        calls[grad] += 1
        return forward(*args, grad=grad, **more)

    monkeypatch.setattr(local_engine, "forward", counted)
    monkeypatch.setattr(train_policy, "forward", counted)
    sets = ("sampling.max_tokens=1", "data.prompts=2", "budget.steps=1", "optim.updates_per_batch=2")
    with opened(tmp_path, RECIPE.replace("on_policy", "icepop(0.1..10)").replace("batch: 2", "batch: 1"), *sets) as run:
        for id, micro in (("logprob.old", 24), ("update", 6)):
            own = {"micro_tokens": micro, "share_prompts": False, "balance": False, "skip_zero_rows": False}
            run.graph = run.graph.change(id, options=own)
        execute(run)
    assert calls == {False: 2, True: 8}


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_c059_log_probs_are_float32_whatever_multiplies(dtype: str) -> None:
    policy, _ = load_policy("toy:llama-2x64", dtype, 3, device="cpu")
    exact, _ = load_policy("toy:llama-2x64", "float32", 3, device="cpu")
    rows = local_engine.sample(policy, [Request(i, i, tuple(range(5 + i)), 3) for i in range(4)], PLAIN, seed=0,
                               batch=0, version=0)
    found = forward(policy, rows, frozenset({"logp_current"}), PLAIN, grad=False)["logp_current"]
    near = forward(exact, rows, frozenset({"logp_current"}), PLAIN, grad=False)["logp_current"]
    split = forward(policy, rows, frozenset({"logp_current"}), PLAIN, grad=False, micro_tokens=16)["logp_current"]
    assert found.dtype == torch.float32
    assert (found - near).abs().max() < 2e-2
    assert (found - split).abs().max() < (1e-5 if dtype == "float32" else 1e-2)


def test_c088_the_loss_covers_what_this_run_sampled_whoever_speaks_in_the_prompt(tmp_path) -> None:
    """A prompt that holds an assistant's turn of 5 tokens, then 3 sampled tokens: 3 coefficients."""
    with opened(tmp_path, RECIPE, "sampling.max_tokens=3", "optim.updates_per_batch=1") as run:
        prompt = run.data.encode("Q: 1?\n") + run.data.encode("A: 2\n") + run.data.encode("Q: 3?\n")
        (row,) = run.rollout.sample([Request(0, 0, prompt, 1)], SamplingOptions(1.0, 3), batch=0)
        assert row.prompt == prompt and len(row.tokens) == 3
        found = run.trainer.logprobs("current", [row], ["logp_current"], Cutting(None, True, True))
        assert len(found["logp_current"]) == len(row.tokens) == len(row.logps)


def test_c094_a_forced_prefix_is_prompt_for_sampler_and_trainer_alike(tmp_path) -> None:
    """With equal weights every ratio is 1, also right behind the forced tokens."""
    with opened(tmp_path, RECIPE) as run:
        forced = run.data.encode("12=") + run.data.encode("<a>")
        rows = run.rollout.sample([Request(0, 0, forced, 8)], SamplingOptions(1.0, 5), batch=0)
        found = run.trainer.logprobs("current", rows, ["logp_current"], Cutting(None, True, True))["logp_current"]
    recorded = torch.tensor([x for row in rows for x in row.logps])
    assert len(found) == len(recorded) == sum(len(row.tokens) for row in rows)
    assert (found - recorded).exp().sub(1).abs().max() < 1e-4


def test_c098_a_batch_without_a_score_leaves_every_weight(tmp_path) -> None:
    with opened(tmp_path, RECIPE) as run:
        before = flat(run.trainer.policy)
        honest = run.score
        run.score = lambda items: [[replace(r, value=None, error="none") for r in row] for row in honest(items)]
        execute(run)
        assert torch.equal(flat(run.trainer.policy), before)
    codes = [e.data["code"] for e in read_journal(tmp_path) if e.kind == "warning"]
    assert codes == ["RL603", "RL603"]


def test_c098_no_rows_are_legal_for_every_forward(tmp_path) -> None:
    text = RECIPE.replace("group_mean", "gae").replace("group(4, ", "single(")
    with opened(tmp_path, text) as run:
        cutting = Cutting(None, True, True)
        assert len(run.trainer.values([], cutting)) == 0
        assert len(run.trainer.logprobs("current", [], ["logp_current"], cutting)["logp_current"]) == 0
        assert run.rollout.sample([], PLAIN, batch=0) == []


@pytest.mark.parametrize("share", [True, False])
def test_c082_packed_rows_and_single_rows_have_the_same_log_probs(share: bool) -> None:
    """A row of 16 tokens beside short ones, in one piece and alone: also where the prompt ends and the row begins."""
    policy, _ = load_policy("toy:llama-2x32", "float32", 3, device="cpu")
    rows = [Trajectory(0, i, 0, (5, 6, 7), tuple((3 * i + k) % 90 + 1 for k in range(n)), (0.0,) * n, (0,) * n, "stop",
                       "") for i, n in enumerate((16, 1, 4))]
    wants = frozenset({"logp_current"})
    packed = forward(policy, rows, wants, PLAIN, grad=False, share_prompts=share)["logp_current"]
    alone = torch.cat([forward(policy, [r], wants, PLAIN, grad=False)["logp_current"] for r in rows])
    assert (packed - alone).abs().max() < 1e-5


def test_c093_a_tied_head_is_the_embedding(tmp_path) -> None:
    """One tensor under two names: what changes in one is there in the other, and is counted and saved once."""
    with opened(tmp_path, RECIPE) as run:
        policy, asked = run.trainer.policy, [Request(0, 0, run.data.encode("1"), 1)]
        names = [name for name, _ in policy.named_parameters() if "embed" in name or "head" in name]
        assert policy.architecture.tied and names == ["embed"] and "head" not in policy.state_dict()
        before, (plain,) = fingerprint(policy), run.rollout.sample(asked, replace(PLAIN, max_tokens=1), batch=0,
                                                                   greedy=True)[0].tokens
        other = (plain + 7) % 90 + 1
        with torch.no_grad():
            policy.embed[other] = 50 * policy.embed[plain]
        assert fingerprint(policy) != before and torch.equal(policy.weights().head, policy.weights().embed)
        (found,) = run.rollout.sample(asked, replace(PLAIN, max_tokens=1), batch=0, greedy=True)[0].tokens
        assert found == other


LORA = ("optim.lora_rank=4", "budget.steps=1", "optim.updates_per_batch=1")


def logits_like(policy, run) -> torch.Tensor:
    """The policy's log-probs of a fixed text."""
    row = Trajectory(0, 0, 0, run.data.encode("12"), tuple(range(5, 13)), (0.0,) * 8, (0,) * 8, "stop", "")
    return forward(policy, [row], frozenset({"logp_current"}), PLAIN, grad=False)["logp_current"]


def test_c025_an_adapter_reaches_the_engine_that_samples(tmp_path) -> None:
    """One update of a low-rank addition, sent to an engine with a policy of its own: its numbers are the trainer's."""
    with opened(tmp_path, RECIPE, *LORA) as run, LocalStream(deepcopy(run.trainer.policy), 1) as stream:
        run.push = lambda: stream.load(run.trainer.version + 1, run.trainer.export())
        run.fingerprint = stream.load(0, run.trainer.export())
        before = logits_like(stream.policy, run)
        execute(run)
        sent = [name for name in run.trainer.export() if ".adapters." in name]
        assert len(sent) == 8 and run.fingerprint == fingerprint(run.trainer.policy)
        after = logits_like(stream.policy, run)
        assert (after - before).abs().max() > 0 and torch.equal(after, logits_like(run.trainer.policy, run))


def test_c025_an_adapter_that_is_filtered_out_stops_the_run(tmp_path) -> None:
    """Whoever sends the weights leaves the additions as they began: the frozen base goes out again, with a gradient."""
    with opened(tmp_path, RECIPE, *LORA) as run, LocalStream(deepcopy(run.trainer.policy), 1) as stream:
        begun = {name: t for name, t in run.trainer.export().items() if ".adapters." in name}
        run.push = lambda: stream.load(run.trainer.version + 1, {**run.trainer.export(), **begun})
        run.fingerprint = run.push()
        with pytest.raises(RunError) as caught:
            execute(run)
        said = caught.value.diagnostic
        assert said.code == "RL602" and "gradient norm was" in said.why and " 0," not in said.why


def thousandth_on_ones(policy) -> None:
    """Every matrix is 1, and its addition 0.001."""
    for layer in policy.layers:
        for name, p in layer.adapters.items():
            p.zero_()
            getattr(layer, name[:-2]).fill_(1.0)
            p[:, 0] = 1.0 if name.endswith("_a") else 0.001 / layer.scale


def test_c065_a_merged_addition_is_exported_once_and_its_loss_is_measured(tmp_path) -> None:
    """1 + 0.001 in bfloat16 is 1: all of the addition is lost, and a warning of the run says how much. Exporting twice
    gives the same tensors."""
    detector = "health { lora_rounding(patience: 1) }"
    watched = RECIPE.replace("float32", "bfloat16").replace("track {", f"{detector}\n  track {{")
    with opened(tmp_path, watched, *LORA, "optim.lr=1e-9") as run:
        policy = run.trainer.policy
        with torch.no_grad():
            thousandth_on_ones(policy)
        execute(run)
        (step,) = [e.data["metrics"] for e in read_journal(tmp_path) if e.kind == "step"]
        assert step["lora/rounded_away"] == pytest.approx(1.0, abs=1e-3)
        (warning,) = [e.data for e in read_journal(tmp_path) if e.kind == "warning" and e.data["code"] == "RL515"]
        assert "rounding takes 100% of the low-rank additions" in warning["message"]
        (layer,) = policy.layers
        assert torch.equal(policy.weights().layers[0].out, torch.ones_like(layer.out).bfloat16())
        once, twice = exported(policy), exported(policy)
        assert set(once) == set(twice) and all(torch.equal(once[n], twice[n]) for n in once)
        policy.compute = torch.float32
        assert rounded_away(policy) == pytest.approx(0.0, abs=1e-3)
