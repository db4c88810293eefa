"""Reward models in Hugging Face folders: a Llama-family trunk with `score.weight` of one label."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from rldsl.backends.local.data import Model
from rldsl.backends.local.decoder.architecture import from_config
from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.formats.hf_folder import read_config, reader, unreadable
from rldsl.backends.local.formats.hf_tokenizer import folder_tokenizer
from rldsl.backends.local.formats.hf_weights import adopt
from rldsl.backends.local.training.forward import Critic

from .judges import Classifier


def folder_classifier(folder: Path, compute: torch.dtype) -> Classifier:
    """The sequence classifier in `folder`. RecipeError RL407 where a part is missing or does not fit, RL406 if the
    trunk is not supported."""
    config = read_config(folder)
    # a classifier has no language-model head: what is tied to the embedding needs none
    policy = Policy(replace(from_config(config, str(folder)), tied=True), compute)
    read = reader(folder)
    try:
        adopt(policy, read)
        head = read("score.weight").float()
    except (KeyError, ValueError) as error:
        raise unreadable(folder, f"it is no sequence classifier: {error.args[0]}") from None
    if head.shape != (1, policy.architecture.width):
        raise unreadable(folder, f"score.weight is {tuple(head.shape)}, a reward model has one label of width "
                                 f"{policy.architecture.width}")
    tokenizer = folder_tokenizer(folder, config, policy.architecture.vocabulary)
    trunk = Critic(policy)
    with torch.no_grad():
        trunk.value.copy_(head[0])
    return Classifier(trunk, Model(policy, tokenizer))
