"""The scoring pool: whatever a scorer does costs its own row and nothing else."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rldsl.axes.base import Scorer
from rldsl.runtime.errors import RunError
from rldsl.runtime.scoring import ScoreItem, ScoringPool

SCORERS = '''
import math, os, sys, time

def act(text, answer, metadata, scale=1.0):
    if text == "hang":
        while True: pass
    if text == "sleep": time.sleep(1e6)
    if text == "memory": bytearray(10 * 2**30)
    if text == "exit": os._exit(3)
    if text == "quit": sys.exit()
    if text == "abort": os.abort()
    if text == "raise": raise ValueError("broken scorer")
    if text == "nan": return math.nan
    if text == "inf": return math.inf
    if text == "none": return None
    if text == "text": return "1.0"
    if text == "print": print("[1, 0.5, null, 0.0]", flush=True)
    if text == "stdin": return float(len(sys.stdin.read()))
    if text == "child":
        import subprocess
        subprocess.Popen([sys.executable, "-c", f"import time; time.sleep(60) # {answer}"])
    if text == "modules": return float("torch" in sys.modules or "numpy" in sys.modules)
    return scale * metadata.get("value", 1.0)

def second(text, answer, metadata):
    return 0.25
'''


@pytest.fixture
def module(tmp_path):
    (tmp_path / "scorers.py").write_text(SCORERS)
    return tmp_path


@pytest.fixture
def pool(module):
    with ScoringPool([Scorer("scorers:act")], 2, 0.7, 2**30, max_failed=0.5, path=(str(module),)) as pool:
        yield pool


def items(*texts):
    return [ScoreItem(text, "", {"value": float(i)}) for i, text in enumerate(texts)]


def values(results):
    return [row[0].value for row in results]


@pytest.mark.parametrize(("deed", "words"), [
    ("hang", "longer than 0.7 s"), ("sleep", "longer than 0.7 s"), ("memory", "MemoryError"),
    ("exit", "exit status 3"), ("quit", "ended its process"), ("abort", "signal 6"),
    ("raise", "ValueError: broken scorer"), ("nan", "nan, which is not a finite"), ("inf", "not a finite"),
    ("none", "no score"), ("text", "not a number")])
def test_a_bad_row_costs_itself_only(pool, deed, words):
    texts = ["ok"] * 5 + [deed] + ["ok"] * 14
    start = time.monotonic()
    results = pool.score(items(*texts))
    assert time.monotonic() - start < 5
    assert values(results) == [None if i == 5 else float(i) for i in range(20)]
    assert words in results[5][0].error and words in pool.first_error
    assert sum(row[0].error is not None for row in results) == 1
    assert values(pool.score(items("ok", "ok"))) == [0.0, 1.0]


def test_several_hanging_rows_are_each_found(pool):
    results = pool.score(items(*["ok", "hang", "ok", "exit", "ok", "hang", "ok", "ok"]))
    assert [i for i, row in enumerate(results) if row[0].error] == [1, 3, 5]


def test_printing_and_reading_do_not_touch_the_protocol(pool):
    assert values(pool.score(items("print", "stdin", "ok"))) == [0.0, 0.0, 2.0]


def test_printing_can_be_kept(module):
    output = module / "output.log"
    with ScoringPool([Scorer("scorers:act")], 1, 5, 2**30, path=(str(module),), output=output) as pool:
        pool.score(items("print"))
    assert output.read_text() == "[1, 0.5, null, 0.0]\n"


def test_several_scorers_options_and_order(module):
    specs = [Scorer("scorers:act", {"scale": 2.0}), Scorer("scorers:second")]
    with ScoringPool(specs, 2, 5, 2**30, path=(str(module),)) as pool:
        results = pool.score(items("ok", "raise", "ok", "ok", "ok"))
    assert [row[0].value for row in results] == [0, None, 4, 6, 8]
    assert all(row[1].value == 0.25 for row in results)


def test_nothing_to_score(pool):
    assert pool.score([]) == []


def test_all_rows_failing_stop_the_run_with_the_first_failure(pool):
    with pytest.raises(RunError) as caught:
        pool.score(items(*["raise"] * 8))
    found = caught.value.diagnostic
    assert found.code == "RL607" and "more than the allowed 50%" in found.message
    assert "broken scorer (scorers.py, line " in found.why and "Traceback" not in found.why and found.fix
    assert values(pool.score(items(*["ok"] * 20)))[19] == 19.0


def test_the_run_stops_as_soon_as_the_limit_is_certain_to_break(module):
    with ScoringPool([Scorer("scorers:act")], 2, 0.1, 2**30, path=(str(module),)) as pool:
        start = time.monotonic()
        with pytest.raises(RunError):
            pool.score(items(*["hang"] * 100))
        assert time.monotonic() - start < 8


def test_one_of_eight_is_within_the_default_limit(module):
    with ScoringPool([Scorer("scorers:act")], 2, 5, 2**30, path=(str(module),)) as pool:
        assert values(pool.score(items(*["raise"] + ["ok"] * 7)))[0] is None


def test_small_calls_are_judged_together(module):
    with ScoringPool([Scorer("scorers:act")], 1, 5, 2**30, path=(str(module),)) as pool:
        pool.score(items("raise", "ok", "ok", "ok"))
        with pytest.raises(RunError):
            pool.score(items("raise", "ok", "ok", "ok"))


@pytest.mark.parametrize(("target", "words"), [
    ("no_such_package:f", "No module named"), ("scorers:nothing", "has no attribute"), ("dies:f", "status 4"),
    ("scorers:math", "is not a function")])
def test_a_scorer_that_cannot_be_loaded(module, target, words):
    (module / "dies.py").write_text("import os; os._exit(4)")
    with (ScoringPool([Scorer(target)], 1, 5, 2**30, path=(str(module),)) as pool,
          pytest.raises(RunError) as caught):
        pool.score(items("ok"))
    assert caught.value.diagnostic.code == "RL607" and words in caught.value.diagnostic.why


def test_a_worker_killed_between_calls_costs_nothing(pool):
    """C-033: kill −9 of a process that scores."""
    pool.score(items("ok"))
    for process in pool._processes:
        os.kill(process.link.process.pid, signal.SIGKILL)
        process.link.process.wait()
    assert values(pool.score(items("ok", "ok", "ok"))) == [0.0, 1.0, 2.0]


def running(mark):
    return subprocess.run(["pgrep", "-f", mark], capture_output=True, check=False).returncode == 0


def test_children_of_a_scorer_end_with_the_pool(module):
    mark = f"mark-{os.getpid()}"
    with ScoringPool([Scorer("scorers:act")], 1, 5, 2**30, path=(str(module),)) as pool:
        pool.score([ScoreItem("child", mark)])
        assert running(mark)
    until = time.monotonic() + 5  # a busy machine ends what was killed a little later
    while running(mark) and time.monotonic() < until:
        time.sleep(0.05)
    assert not running(mark)


def ended(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_workers_end_when_the_pool_is_killed(module):
    code = ("from rldsl.runtime.scoring import *; from rldsl.axes.base import Scorer; import os; "
            f"p = ScoringPool([Scorer('scorers:act')], 1, 5, 2**30, path=({str(module)!r},)); "
            "p.score([ScoreItem('ok', '')]); print(p._processes[0].link.process.pid, flush=True); os._exit(9)")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    pid = int(run.stdout)
    for _ in range(100):
        if ended(pid):
            return
        time.sleep(0.05)
    raise AssertionError("the worker outlived its pool")


def test_workers_are_light(pool):
    import torch  # noqa: F401  the parent has it; the workers must not

    assert values(pool.score(items("modules"))) == [0.0]


@pytest.mark.parametrize(("scorer", "item"), [
    ("math", ScoreItem(r"\boxed{2}", "2")),
    ("task", ScoreItem("5", "5", {"gym": "chain_sum", "entry": {"answer": "5"}}))])
def test_heavy_scorers_load_outside_the_deadline(scorer, item):
    with ScoringPool([Scorer(f"rldsl.environments.verifiers:{scorer}")], 1, 0.3, 2**32) as pool:
        ((result,),) = pool.score([item])
    assert result.value == 1.0


def test_cheap_rows_are_cheap():
    with ScoringPool([Scorer("rldsl.environments.verifiers:numeric")], 2, 5, 2**30) as pool:
        batch = [ScoreItem(f"it is {i}", str(i)) for i in range(128)]
        pool.score(batch)
        best = min(_seconds(pool, batch) for _ in range(20))
    assert best < 0.005


def _seconds(pool, batch):
    start = time.perf_counter()
    pool.score(batch)
    return time.perf_counter() - start
