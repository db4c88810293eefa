"""Peak memory of a log-prob and its gradient where a vocabulary of 128k is spread over two ranks.

    python benchmarks/vocabulary_parallel.py [TOKENS]

`ours` computes a few rows of a rank's logits at a time, and again in the backward pass; `megatron` is
vocab_parallel_cross_entropy on all of a rank's logits. Reported is, of the larger rank, the growth of its peak resident
memory over what inputs and their gradients take.
"""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import time
from typing import Any

VOCABULARY, WIDTH, RANKS = 128_000, 256, 2
VARIANTS = ("ours", "megatron")


def main() -> None:
    tokens = sys.argv[1] if len(sys.argv) > 1 else "4096"
    for variant in VARIANTS:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = str(s.getsockname()[1])
        started = [subprocess.Popen([sys.executable, __file__, tokens, variant, str(rank), port], text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for rank in range(RANKS)]
        found = [tuple(map(float, process.communicate()[0].split())) for process in started]
        mib, seconds = max(found)
        print(f"{variant:9} {mib:7.0f} MiB above the inputs, {seconds:.2f} CPU s forward and backward")


def measure(tokens: int, variant: str, rank: int, port: str) -> None:
    """Print MiB above the inputs and CPU seconds of one variant on one rank."""
    from rldsl.backends.cluster.megatron import cpu

    cpu.prepare()
    import torch

    from rldsl.backends.cluster.megatron.layout import Parallel, join, leave

    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(rank)
    with cpu.devices():
        join(Parallel(tensor=RANKS), rank, f"127.0.0.1:{port}")
        own = VOCABULARY // RANKS
        head = torch.randn(own, WIDTH, generator=generator).requires_grad_()
        generator.manual_seed(7)
        hidden = torch.randn(tokens, WIDTH, generator=generator).mul_(0.1).requires_grad_()
        targets = torch.randint(0, VOCABULARY, (tokens,), generator=generator)
        hidden.grad, head.grad = torch.zeros_like(hidden), torch.zeros_like(head)
        loss(variant, hidden[:16], head, targets[:16], rank).backward()  # what libraries allocate once
        inputs, start = _peak(), time.process_time()
        loss(variant, hidden, head, targets, rank).backward()
        print(_peak() - inputs, time.process_time() - start)
        leave()


def loss(variant: str, hidden: Any, head: Any, targets: Any, rank: int) -> Any:
    """The sum of all log-probs."""
    from megatron.core import parallel_state as ps
    from megatron.core.tensor_parallel import vocab_parallel_cross_entropy

    from rldsl.backends.cluster.megatron.logprob import Vocabulary, token_statistics
    from rldsl.runtime.trajectory import SamplingOptions

    if variant == "ours":
        vocabulary = Vocabulary(ps.get_tensor_model_parallel_group(), RANKS, rank * len(head), len(head), VOCABULARY)
        return token_statistics(hidden, head, targets, vocabulary, SamplingOptions(1.0, 1)).logp.sum()
    return -vocab_parallel_cross_entropy((hidden @ head.t()).unsqueeze(1), targets.unsqueeze(1)).sum()


def _peak() -> float:
    """Largest resident size so far, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    if len(sys.argv) > 2:
        measure(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        main()
