"""The live view: one line per step in a pipe, a table on a terminal."""

import io
import math

from rldsl.runtime.live import PlainView, TerminalView, live_view, sparkline
from rldsl.runtime.metrics import metric, written

METRICS = {"reward/mean": 0.25, "grad_norm": 1.5, "groups/uniform": 0.5, "responses/truncated": 0.0,
           "tokens_per_second": 12345.6, "step_seconds": 0.5}


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_plain_lines():
    stream = io.StringIO()
    view = live_view("run x", 3, stream)
    assert isinstance(view, PlainView)
    with view:
        view.waiting("sampling")
        view.evaluated(0, {"held_out/score": 0.125})
        view.step(1, METRICS)
        view.step(2, {"reward/mean": math.nan})
    assert stream.getvalue().splitlines() == [
        "run x", "evaluated after step 0  held_out/score 0.125",
        "step 1/3  reward 0.25  held-out 0.125  grad norm 1.5  uniform groups 50%  truncated 0%  tokens/s 12,346"
        "  s/step 0.5",
        "step 2/3  reward nan  held-out 0.125  grad norm –  uniform groups –  truncated –  tokens/s –  s/step –"]


def test_terminal_shows_numbers_trend_progress_and_what_it_waits_for():
    stream = Terminal()
    view = live_view("run [x]", 10, stream)
    assert isinstance(view, TerminalView)
    with view:
        view.step(1, METRICS)
        view.step(2, {**METRICS, "reward/mean": 0.5})
        view.waiting("score 128 responses")
        view.evaluated(2, {"held_out/score": 0.625})
        view.notice("[odd] notice")
        from rich.console import Console

        shown = io.StringIO()
        Console(file=shown, width=100).print(view.render())
    text = shown.getvalue()
    assert "run [x]  step 2/10  about " in text and "score 128 responses · 0 s" in text
    assert "0.5" in text and "0.625" in text and "12,346" in text and "50%" in text and "▁█" in text
    assert "[odd] notice" in stream.getvalue()


def test_terminal_view_before_the_first_step():
    view = TerminalView("x", 10, Terminal())
    from rich.console import Console

    shown = io.StringIO()
    Console(file=shown, width=100).print(view.render())
    assert "starting" in shown.getvalue() and "–" in shown.getvalue()


def test_sparkline():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([1.0, 1.0]) == "▁▁" and sparkline([]) == ""
    assert sparkline([0.0, math.nan, 1.0]) == "▁ █" and sparkline([math.inf]) == " "


def test_written():
    assert written(None, "number") == "–" and written(0.126, "share") == "13%"
    assert metric("kl").title == "kl" and metric("grad_norm").title == "grad norm"
