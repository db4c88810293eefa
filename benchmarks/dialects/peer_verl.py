"""verl's side: its configuration, its `compute_advantage`, its `ppo_loss`, on the numbers of a batch file.

Nothing of verl is replaced. A case's settings are Hydra overrides of verl's own `ppo_trainer.yaml`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import verl
from hydra import compose, initialize_config_dir
from padded import answer, column, mask, rewards, serve
from torch import Tensor
from verl import DataProto
from verl.trainer.ppo.core_algos import get_kl_controller
from verl.trainer.ppo.ray_trainer import apply_kl_penalty, compute_advantage
from verl.utils import tensordict_utils
from verl.utils.config import omega_conf_to_dataclass
from verl.workers.utils.losses import ppo_loss

CONFIG = Path(verl.__file__).parent / "trainer" / "config"
NEEDED = ["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1"]
"""What the configuration refuses to be without; it says nothing about the loss."""


def one(settings: dict, batch: dict) -> dict:
    """Loss and gradients of one batch under verl's configuration with these overrides."""
    with initialize_config_dir(str(CONFIG), version_base=None):
        config = compose("ppo_trainer", [*NEEDED, *(f"{k}={v}" for k, v in settings.items())])
    current = column(batch, "logp_current").requires_grad_()
    loss, _ = ppo_loss(omega_conf_to_dataclass(config.actor_rollout_ref.actor), {"log_probs": _flat(current, batch)},
                       _data(batch, _advantages(config.algorithm, batch)))
    return answer(loss, current, batch)


def _advantages(config, batch: dict) -> Tensor:
    """[N, T], after the reward's KL where it is switched on."""
    on, last = mask(batch), mask(batch).sum(-1).long() - 1
    scores = torch.zeros_like(on)
    scores[torch.arange(len(on)), last] = rewards(batch)
    tensors = {"token_level_scores": scores, "token_level_rewards": scores.clone(), "response_mask": on,
               "values": column(batch, "values"), "old_log_probs": column(batch, "logp_old"),
               "ref_log_prob": column(batch, "logp_ref")}
    uid = np.array([r["prompt"] for r in batch["responses"]], dtype=object)
    data = DataProto.from_dict(tensors=tensors, non_tensors={"uid": uid})
    if config.use_kl_in_reward:
        data, _ = apply_kl_penalty(data, get_kl_controller(config.kl_ctrl), config.kl_penalty)
    data = compute_advantage(data, config.adv_estimator, gamma=config.gamma, lam=config.lam,
                             norm_adv_by_std_in_grpo=config.norm_adv_by_std_in_grpo, config=config)
    return data.batch["advantages"]


def _data(batch: dict, advantages: Tensor):
    """What the trainer hands to the loss: one prompt token per row, one process, the whole batch at once."""
    on = mask(batch)
    one_token = torch.ones(len(on), 1, dtype=torch.long)
    tensors = {"prompts": one_token, "responses": on.long(), "attention_mask": torch.cat([one_token, on.long()], 1),
               "response_mask": on, "old_log_probs": column(batch, "logp_old"), "advantages": advantages,
               "ref_log_prob": column(batch, "logp_ref")}
    return tensordict_utils.get_tensordict(tensors, {"dp_size": 1, "batch_num_tokens": int(on.sum()),
                                                     "global_batch_size": len(on)})


def _flat(current: Tensor, batch: dict) -> Tensor:
    """The log-probs as the model gives them: rows end to end, each one position early, the last one unused."""
    lengths = [len(r["logp_current"]) for r in batch["responses"]]
    return torch.cat([torch.cat([row[:n], row.new_zeros(1)]) for row, n in zip(current, lengths, strict=True)])


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    serve(("verl", "torch"), one)
