"""What a run shows while it runs: a live table on a terminal, one plain line per step elsewhere."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, Self, TextIO

from .metrics import HELD_OUT, SHOWN, STEP_SECONDS, written

if TYPE_CHECKING:
    from rich.console import RenderableType

BARS = "▁▂▃▄▅▆▇█"
TREND = 32


class LiveView(Protocol):
    """What the training loop tells; use as a context manager."""

    def waiting(self, what: str) -> None:
        """What the run is doing or waiting for from now on."""

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        """A step is finished."""

    def evaluated(self, step: int, metrics: Mapping[str, float]) -> None:
        """Held-out scores are in."""

    def notice(self, text: str) -> None:
        """A line that stays: a warning, a checkpoint."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def live_view(title: str, steps: int, stream: TextIO) -> LiveView:
    """The view that fits `stream`. `steps` is the number of the last step; steps count from 1."""
    return TerminalView(title, steps, stream) if stream.isatty() else PlainView(title, steps, stream)


class PlainView:
    """One line per step, for logs and pipes."""

    def __init__(self, title: str, steps: int, stream: TextIO):
        self.title, self.steps, self.stream = title, steps, stream
        self.held_out: float | None = None

    def waiting(self, what: str) -> None:
        """Nothing: a log has a line when something is finished."""

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        """`step 3/100  reward 0.25  held-out 0.31  …`"""
        values = {**metrics, HELD_OUT.name: self.held_out}
        parts = [f"{m.title} {written(values.get(m.name), m.style)}" for m in (*SHOWN, STEP_SECONDS)]
        self.notice(f"step {step}/{self.steps}  {'  '.join(parts)}")

    def evaluated(self, step: int, metrics: Mapping[str, float]) -> None:
        """`evaluated after step 3  held_out/score 0.31`"""
        self.held_out = metrics.get(HELD_OUT.name, self.held_out)
        scores = "  ".join(f"{name} {value:.3g}" for name, value in metrics.items())
        self.notice(f"evaluated after step {step}  {scores}")

    def notice(self, text: str) -> None:
        """The line itself, at once."""
        print(text, file=self.stream, flush=True)

    def __enter__(self) -> Self:
        self.notice(self.title)
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.flush()


class TerminalView:
    """A table that renews itself, with the trend of each number and what the run is waiting for."""

    def __init__(self, title: str, steps: int, stream: TextIO):
        from rich.console import Console
        from rich.live import Live

        self.title, self.steps, self.done = title, steps, 0
        self.first: int | None = None
        self.started = self.since = time.monotonic()
        self.what = "starting"
        self.values: dict[str, list[float]] = {m.name: [] for m in SHOWN}
        self._live = Live(get_renderable=self.render, console=Console(file=stream), refresh_per_second=4)

    def waiting(self, what: str) -> None:
        """Shown with the seconds it has lasted."""
        self.what, self.since = what, time.monotonic()

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        """Renew the numbers."""
        if self.first is None:
            self.first, self.started = step, time.monotonic()
        self.done = step
        self._take(metrics)

    def evaluated(self, step: int, metrics: Mapping[str, float]) -> None:
        """Renew the held-out score."""
        self._take(metrics)

    def notice(self, text: str) -> None:
        """Above the table, and there it stays."""
        from rich.text import Text

        self._live.console.print(Text(text))

    def render(self) -> RenderableType:
        """The table as it stands."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        for m in SHOWN:
            seen = self.values[m.name]
            table.add_row(Text(m.title, style="dim"), written(seen[-1] if seen else None, m.style),
                          Text(sparkline(seen[-TREND:]), style="cyan"))
        head = Text.assemble((self.title, "bold"), f"  step {self.done}/{self.steps}{self._left()}")
        waits = Text(f"{self.what} · {time.monotonic() - self.since:.0f} s", style="dim")
        return Group(head, ProgressBar(self.steps, self.done, width=60), table, waits)

    def _take(self, metrics: Mapping[str, float]) -> None:
        for name, seen in self.values.items():
            if (value := metrics.get(name)) is not None:
                seen.append(value)

    def _left(self) -> str:
        """Time left at the pace since the second step; the first one warms up."""
        if self.first is None or self.done == self.first:
            return ""
        pace = (time.monotonic() - self.started) / (self.done - self.first)
        seconds = round(pace * (self.steps - self.done))
        return f"  about {seconds // 60}:{seconds % 60:02d} left"

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.what, self.since = "ended", time.monotonic()
        self._live.__exit__(None, None, None)


def sparkline(values: list[float]) -> str:
    """Values as bars from the lowest to the highest of them; one that is not finite is a gap."""
    finite = [v for v in values if math.isfinite(v)]
    if not finite:
        return " " * len(values)
    low, span = min(finite), max(finite) - min(finite) or 1.0
    return "".join(BARS[int((v - low) / span * (len(BARS) - 1))] if math.isfinite(v) else " " for v in values)
