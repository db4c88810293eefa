"""How fast new weights reach the engines, against a plain copy of the same bytes.

    python benchmarks/push.py [--width 512] [--layers 4] [--engines 2] [--repeat 5]

A push is what `publish` waits for: the buffer into Ray's object store, every engine's reload, and the fingerprint of
what it then holds, compared. The plain copy is one `numpy.copyto` of the buffer in this process.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import ray
import torch

from rldsl.backends.cluster.model_folder import source
from rldsl.backends.cluster.placement import reserve
from rldsl.backends.cluster.ray_session import ray_session
from rldsl.backends.cluster.rollout.engine_process import spawner
from rldsl.backends.cluster.rollout.rollouts import Rollouts
from rldsl.backends.cluster.rollout.streams import EngineSpec
from rldsl.backends.cluster.weights import Weights, pack
from rldsl.backends.local.formats.hf_weights import exported
from rldsl.backends.local.load import load_policy
from rldsl.compiler.roles import ROLLOUT, Role


def main() -> None:
    """Prints one line for each way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("width", 512), ("layers", 4), ("engines", 2), ("repeat", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    spec, own = f"toy:llama-{args.layers}x{args.width}", Path(tempfile.mkdtemp()) / "model"
    found = source(spec, "float32", 0, Path(), own, None)
    policy, _ = load_policy(spec, "float32", 0, device="cpu")
    tensors = {name: tensor.detach() for name, tensor in exported(policy).items()}
    pushed: list[tuple[int, float]] = []
    with ray_session(None, args.engines):
        reserved = reserve((Role(ROLLOUT, args.engines),))
        made = EngineSpec(str(found.folder), found.tokenizer, found.vocabulary, "float32", found.context, 0)
        rollouts = Rollouts(made, args.engines, spawner(made, reserved), print,
                            lambda _, weights, seconds: pushed.append((weights.manifest.bytes, seconds)))
        stored = []
        for version in range(args.repeat + 1):
            changed = {name: t + 1e-3 * version * torch.randn_like(t) for name, t in tensors.items()}
            begun = time.perf_counter()
            manifest, flat = pack(changed, "float32")
            weights = Weights(manifest, ray.put(flat))
            stored.append(time.perf_counter() - begun)
            rollouts.load(version, weights)
        rollouts.close()
    size = pushed[0][0]
    print(f"{spec}: {size / 1e6:.1f} MB to {args.engines} engines, medians of {args.repeat}")
    for what, seconds in (("packed and stored", stored[1:]), ("loaded and proved", [s for _, s in pushed[1:]]),
                          ("plain copy", copies(flat, args.repeat))):
        middle = statistics.median(seconds)
        print(f"  {what:<18} {middle * 1e3:8.1f} ms  {size / middle / 1e6:8.0f} MB/s")


def copies(flat: np.ndarray, repeat: int) -> list[float]:
    """Seconds of a copy into memory that exists."""
    target, seconds = np.empty_like(flat), []
    for _ in range(repeat + 1):
        begun = time.perf_counter()
        np.copyto(target, flat)
        seconds.append(time.perf_counter() - begun)
    return seconds[1:]


if __name__ == "__main__":
    main()
