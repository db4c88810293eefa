"""Charts and the report, from a journal alone."""

import math
import random
import xml.etree.ElementTree as ElementTree

import pytest
from PIL import Image

from rldsl.runtime.chart import HEIGHT, LEFT, WIDTH, Series, draw, smoothed, ticks
from rldsl.runtime.chart_svg import svg
from rldsl.runtime.journal import Journal
from rldsl.runtime.report import write_report


@pytest.mark.parametrize(("low", "high", "marks"), [
    (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (0, 100, [0, 20, 40, 60, 80, 100]),
    (-0.3, 0.3, [-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3]),
    (1, 7, [1, 2, 3, 4, 5, 6, 7]), (-0.01, 1.12, [-0.2, 0, 0.2, 0.4, 0.6, 0.8, 1, 1.2])])
def test_ticks_are_round_and_cover(low, high, marks):
    assert ticks(low, high) == pytest.approx(marks)


def test_everything_is_drawn_inside_the_sheet():
    generator = random.Random(0)
    for scale in (1e-9, 1.0, 1e12):
        for count in (1, 2, 50, 5000):
            points = tuple((float(i), generator.gauss(0, scale)) for i in range(count))
            drawing = draw("x", [Series(points)])
            places = [place for line, _ in drawing.lines for place in line]
            assert all(LEFT - 1 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)
            assert len(places) <= 1001 and 3 <= len(drawing.y_ticks) <= 10
            ElementTree.fromstring(svg(drawing))


@pytest.mark.parametrize("value", [0.0, 1.0, -3.5, 1e-300, 1e300, 0.1])
def test_flat_lines(value):
    assert draw("x", [Series(((0, value), (1, value)))]) is not None


def test_gaps_and_nothing():
    drawing = draw("x", [Series(((0, 1.0), (1, math.nan), (2, math.inf), (3, 2.0), (4, 3.0)))])
    assert [len(line) for line, _ in drawing.lines] == [1, 2]
    assert draw("x", [Series(((0, math.nan),))]) is None and draw("x", []) is None


def test_running_mean():
    points = [(i, float(i % 2)) for i in range(200)]
    assert smoothed(points)[-1][1] == pytest.approx(0.5, abs=0.1)
    assert smoothed([(0, 1.0), (1, math.nan), (2, 1.0)]) == ((0, 1.0), (2, 1.0))


@pytest.fixture
def folder(tmp_path):
    with Journal(tmp_path) as journal:
        journal.append("start", name="grpo <toy>", params={"gate": {"high": 0.28}}, tags={"fingerprint": "abc"},
                       recipe='recipe grpo {\n  gate = clip(0.2) & "<b>"\n}', formula="J = Σ_t w·A·r")
        for step in range(1, 101):
            journal.append("step", step=step, metrics={
                "reward/mean": step / 100, "grad_norm": 1.0, "own/metric": -step, "loss": math.nan, "absent": None})
        journal.append("evaluate", step=100, metrics={"held_out/score": 0.75})
        journal.append("end", status="FAILED", error="RL601 <non-finite>")
    return tmp_path


def test_report_is_self_contained_and_says_everything(folder):
    files = write_report(folder)
    page = files.html.read_text("utf-8")
    for text in ("grpo &lt;toy&gt;", "FAILED · 100 steps", "RL601 &lt;non-finite&gt;", "J = Σ_t w·A·r", "gate.high",
                 "0.28", "&quot;&lt;b&gt;&quot;", "fingerprint", "0.75", "own/metric"):
        assert text in page
    assert "<script" not in page and "http" not in page and "<b>" not in page
    assert page.count("<svg") == 4 and "absent" not in page
    assert "<td class='number'>0.055</td><td class='number'>0.955</td>" in page


def test_images(folder):
    files = write_report(folder)
    assert [path.name for path in files.images] == ["reward_mean.png", "held_out_score.png", "grad_norm.png",
                                                    "own_metric.png"]
    for path in files.images:
        image = Image.open(path)
        assert image.size == (2 * WIDTH, 2 * HEIGHT) and len(image.getcolors(100_000)) > 5


def test_steps_taken_back_by_a_resume_are_not_reported(folder):
    with Journal(folder) as journal:
        journal.append("resume", step=10)
        journal.append("step", step=11, metrics={"reward/mean": 0.0})
    page = write_report(folder).html.read_text("utf-8")
    assert "RUNNING · 11 steps" in page and "RL601" not in page


def test_a_run_without_steps(tmp_path):
    with Journal(tmp_path) as journal:
        journal.append("start", name="empty")
    files = write_report(tmp_path)
    assert files.images == () and "0 steps" in files.html.read_text("utf-8")
