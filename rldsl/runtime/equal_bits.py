"""Bit-equal log-probs, where a recipe asks for them: checked on every batch, not assumed."""

from __future__ import annotations

from rldsl.algebra.variables import LOGP, LOGP_OLD, TRAINER_VERSION
from rldsl.compiler.graph import Node
from rldsl.diagnostics import Diagnostic

from .errors import RunError
from .run import Run
from .stages_data import cutting
from .work import Work

ASKED = "bit_equal"
"""The option of alignment that promises it."""


def require_equal_bits(run: Run, work: Work, node: Node) -> None:
    """RunError RL620 where the trainer gives a token another log-prob than the engine that sampled it under the
    weights that the batch's updates start from. Tokens of older weights are another policy's."""
    rows = work.rows()
    if not node.options.get("align", {}).get(ASKED) or not rows:
        return
    if LOGP_OLD.name in work.table.columns:
        ours = work.table.columns[LOGP_OLD.name].data
    else:
        ours = run.trainer.logprobs("current", rows, [LOGP.name], cutting(node))[LOGP.name]
    numbers = run.trainer.math.numbers
    now = numbers(work.table.columns[TRAINER_VERSION.name].data)[0]
    theirs = [(x, v) for row in rows for x, v in zip(row.logps, row.versions, strict=True)]
    gaps = [abs(x - y) for x, (y, v) in zip(numbers(ours), theirs, strict=True) if v == now]
    if apart := sum(gap > 0 for gap in gaps):
        raise RunError(Diagnostic(
            "RL620", f"the log-probs of {apart} of {len(gaps)} tokens of batch {work.batch} "
            f"({apart / len(gaps):.1%}) are not those that they were sampled with, bit for bit; the largest difference "
            f"is {max(gaps):.1e}", why="κ is not 1, as the recipe promises; no optimizer step was taken",
            fix="correct for the mismatch instead of asking for equal bits, or choose kernels and a dtype that round a "
                "row alike in any company"))
