"""Peak memory of log-prob, entropy and their gradients at a vocabulary of 128k: chunked against plain.

    python benchmarks/logprob_memory.py [TOKENS]

Each variant runs in a process of its own; reported is the growth of its peak resident memory over what inputs
and gradients of the inputs take.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

VOCABULARY, WIDTH = 128_000, 256


def main() -> None:
    tokens = sys.argv[1] if len(sys.argv) > 1 else "2048"
    found = {}
    for variant in ("plain", "chunked"):
        done = subprocess.run([sys.executable, __file__, tokens, variant], check=True, capture_output=True, text=True)
        found[variant] = [float(x) for x in done.stdout.split()]
    for variant, (mib, seconds) in found.items():
        print(f"{variant:8} {mib:8.0f} MiB above the inputs, {seconds:.2f} CPU s forward and backward")
    print(f"ratio    {found['plain'][0] / found['chunked'][0]:8.1f}")


def measure(tokens: int, variant: str) -> None:
    """Print MiB above the inputs and CPU seconds of one variant."""
    import torch

    from rldsl.backends.local.training.logprob import token_statistics
    from rldsl.runtime.trajectory import SamplingOptions

    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(tokens, WIDTH, generator=generator).mul_(0.1).requires_grad_()
    head = torch.randn(VOCABULARY, WIDTH, generator=generator).requires_grad_()
    targets = torch.randint(0, VOCABULARY, (tokens,), generator=generator)
    hidden.grad, head.grad = torch.zeros_like(hidden), torch.zeros_like(head)
    inputs = _peak()
    start = time.process_time()
    if variant == "chunked":
        found = token_statistics(hidden, head, targets, SamplingOptions(1.0, 1), entropy=True)
        total = found.logp.sum() + found.entropy.sum()
    else:
        logps = (hidden @ head.t()).log_softmax(-1)
        total = logps.gather(1, targets.unsqueeze(1)).sum() - (logps.exp() * logps).sum()
    total.backward()
    print(_peak() - inputs, time.process_time() - start)


def _peak() -> float:
    """Largest resident size so far, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    if len(sys.argv) > 2:
        measure(int(sys.argv[1]), sys.argv[2])
    else:
        main()
