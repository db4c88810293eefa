"""Weights on their way from the trainer to the engines: one flat buffer, what is in it, and its fingerprint.

The fingerprint is made of one number a tensor: the sum, modulo 2⁶⁴, of a hash of each element's bits. It does not see
the order of elements, so it is the same for the trainer's tensors and for the stacked, padded or reordered ones that
an engine holds of them; a changed element changes it.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

FUSED = {"q_proj": "qkv_proj", "k_proj": "qkv_proj", "v_proj": "qkv_proj", "gate_proj": "gate_up_proj",
         "up_proj": "gate_up_proj"}
"""Projections that engines keep stacked."""
EXPERTS = re.compile(r"^(.*\.experts)\..*$")
BITS = {torch.float32: torch.int32, torch.bfloat16: torch.int16, torch.float16: torch.int16}
CHUNK = 1 << 20
"""Elements hashed at a time."""
_MASK = (1 << 64) - 1
_MIX = (0xBF58476D1CE4E5B9 - (1 << 64), 0x94D049BB133111EB - (1 << 64))


@dataclass(frozen=True)
class Manifest:
    """What a flat buffer holds: tensors of one `dtype` under their Hugging Face names, one after another. `sums` are
    those of the tensors that an engine stacks into one, by the stacked name. A tied head is not in it."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtype: str
    sums: Mapping[str, int]

    @property
    def fingerprint(self) -> str:
        """16 hex digits."""
        return digest(self.sums)

    @property
    def bytes(self) -> int:
        """Size of the buffer."""
        return sum(math.prod(shape) for shape in self.shapes) * getattr(torch, self.dtype).itemsize


@dataclass(frozen=True)
class Weights:
    """A published set of weights: `flat` is its buffer (uint8), or a reference to it in Ray's object store."""

    manifest: Manifest
    flat: Any


def pack(tensors: Mapping[str, Tensor], dtype: str) -> tuple[Manifest, np.ndarray]:
    """All tensors, cast to `dtype` (float32 or bfloat16), in one uint8 array."""
    kind = getattr(torch, dtype)
    cast = {name: t.detach().to(kind).contiguous().cpu() for name, t in tensors.items()}
    flat = np.empty(sum(t.nbytes for t in cast.values()), dtype=np.uint8)
    end = 0
    for tensor in cast.values():
        start, end = end, end + tensor.nbytes
        flat[start:end] = tensor.flatten().view(torch.uint8).numpy()
    shapes = tuple(tuple(t.shape) for t in cast.values())
    return Manifest(tuple(cast), shapes, dtype, sums(cast.items())), flat


def unpack(manifest: Manifest, flat: np.ndarray) -> Iterator[tuple[str, Tensor]]:
    """The named tensors, sharing memory with `flat`. ValueError where the buffer has another size."""
    kind = getattr(torch, manifest.dtype)
    if flat.nbytes != manifest.bytes:
        raise ValueError(f"the buffer has {flat.nbytes} bytes, its tensors {manifest.bytes}")
    data, end = torch.from_numpy(flat), 0
    for name, shape in zip(manifest.names, manifest.shapes, strict=True):
        start, end = end, end + math.prod(shape) * kind.itemsize
        yield name, data[start:end].view(kind).view(shape)


def group(name: str) -> str:
    """The tensor of an engine that a tensor becomes a part of; the experts of a layer are one."""
    if found := EXPERTS.match(name):
        return found[1]
    parts = name.split(".")
    return ".".join([*parts[:-2], FUSED.get(parts[-2], parts[-2]), parts[-1]]) if len(parts) > 1 else name


def sums(tensors: Iterable[tuple[str, Tensor]]) -> dict[str, int]:
    """{group: the sum of its tensors' hashes}."""
    found: dict[str, int] = {}
    for name, tensor in tensors:
        found[group(name)] = (found.get(group(name), 0) + hashed(tensor)) & _MASK
    return found


def hashed(tensor: Tensor) -> int:
    """The sum, modulo 2⁶⁴, of a hash of each element's bits; +0 counts 0, so that padding does not matter.

    The hash is two rounds of splitmix64's finalizer (Steele, Lea, Flood 2014) without its increment.
    """
    bits = tensor.detach().contiguous().view(BITS[tensor.dtype]).flatten()
    found = 0
    for part in bits.split(CHUNK):
        z = part.to(torch.int64)
        for multiplier, shift in ((_MIX[0], 30), (_MIX[1], 27)):
            z = z * multiplier
            z = z ^ (z >> shift & (1 << 64 - shift) - 1)
        found += int(z.sum())
    return found & _MASK


def digest(found: Mapping[str, int]) -> str:
    """16 hex digits of the sums."""
    text = ";".join(f"{name}:{found[name]}" for name in sorted(found))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def agree(wanted: Mapping[str, int], held: Iterable[Mapping[str, int]]) -> bool:
    """Whether workers hold what is wanted: together where they share a tensor out, each where they all copy it."""
    parts = list(held)
    if any(set(part) != set(wanted) for part in parts):
        return False
    return all(sum(part[name] for part in parts) & _MASK == number or all(part[name] == number for part in parts)
               for name, number in wanted.items())
