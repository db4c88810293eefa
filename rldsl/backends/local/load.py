"""From a model spec in a recipe to a policy and its tokenizer."""

from __future__ import annotations

from pathlib import Path

import torch

from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.formats.tokenizer import Tokenizer
from rldsl.backends.local.formats.toy import toy_policy
from rldsl.compiler.toy_models import PREFIX
from rldsl.diagnostics import Diagnostic, RecipeError

from .allocator import keep_freed_memory

PACKAGED = "gguf:"
DESCRIBING = ("config.json", "tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "chat_template*")
"""What is read of a model folder beside its weights."""
_DTYPES = {"float32": torch.float32, "fp32": torch.float32, "bfloat16": torch.bfloat16, "bf16": torch.bfloat16}


def load_policy(spec: str, dtype: str, seed: int, device: str = "auto",
                root: Path = Path(".")) -> tuple[Policy, Tokenizer]:
    """A policy with float32 master weights that multiplies in `dtype` (float32 or bfloat16), and its tokenizer.

    `spec` is one of
      toy:KIND-LAYERSxWIDTH   a built-in model with random weights from `seed`, characters as tokens
      a folder                config.json, *.safetensors, tokenizer.json
      FILE.gguf               one GGUF file
      gguf:PACKAGE            the one .gguf file that an installed Python package ships
      OWNER/NAME              a model of the Hugging Face hub, from its local cache or the network
    Relative paths start from `root`.
    RecipeError RL407 says what is missing or unreadable, RL406 what the backend cannot run exactly.
    """
    keep_freed_memory()
    place = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device)
    policy = _policy(spec, compute_dtype(dtype), seed, root).to(place)
    return policy, policy.tokenizer


def compute_dtype(name: str) -> torch.dtype:
    """The torch dtype of a name; RecipeError RL203 for another one."""
    if name not in _DTYPES:
        raise RecipeError([Diagnostic("RL203", f"There is no dtype {name!r}.",
                                      fix=f"Write one of {', '.join(_DTYPES)}.")])
    return _DTYPES[name]


def _policy(spec: str, compute: torch.dtype, seed: int, root: Path) -> Policy:
    if spec.startswith(PREFIX):
        return toy_policy(spec, compute, seed)
    from rldsl.backends.local.formats.gguf_file import gguf_policy, packaged_gguf
    from rldsl.backends.local.formats.hf_folder import folder_policy

    if (folder := model_folder(spec, root)) is not None:
        return folder_policy(folder, compute)
    if spec.startswith(PACKAGED):
        return gguf_policy(packaged_gguf(spec.removeprefix(PACKAGED)), compute)
    return gguf_policy(root / Path(spec).expanduser(), compute)


def model_folder(spec: str, root: Path) -> Path | None:
    """The folder of a model that is one, here or from the hub; None for the other forms of a spec."""
    if spec.startswith((PREFIX, PACKAGED)) or spec.endswith(".gguf"):
        return None
    folder = root / Path(spec).expanduser()
    return folder if folder.exists() or not _looks_like_hub_name(spec) else _downloaded(spec)


def _looks_like_hub_name(spec: str) -> bool:
    return spec.count("/") == 1 and not spec.startswith((".", "/", "~")) and not spec.endswith("/")


def _downloaded(name: str) -> Path:
    from rldsl.backends.local.formats.hf_folder import missing_extra

    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError
    except ImportError:
        raise missing_extra("huggingface_hub") from None
    try:
        return Path(snapshot_download(name, allow_patterns=["*.safetensors", *DESCRIBING]))
    except (HfHubHTTPError, OSError, ValueError) as error:
        raise RecipeError([Diagnostic(
            "RL407", f"The model {name!r} is neither a folder here nor could be fetched from the hub: "
            f"{str(error).strip().splitlines()[0]}",
            fix="Download the model first and give its folder, or check the name and the network.")]) from None
