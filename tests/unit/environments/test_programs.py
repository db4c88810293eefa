"""Programs in responses against their unit tests, and what else scores text without a right answer."""

import time

import pytest

from rldsl.axes.discover import find
from rldsl.environments.verifiers import execute, similarity

FENCED = find("feedback", "execute")(tests="tests").extract


def score(program, *tests, share=False, seconds=5.0):
    return execute(f"```python\n{program}\n```", "", {"tests": list(tests)}, extract=FENCED, tests="tests",
                   seconds=seconds, share=share)


def test_all_tests_must_pass_or_each_counts():
    tests = ("assert f(1) == 2", "assert f(2) == 5")
    assert score("def f(x): return x * x + 1", *tests) == 1.0
    assert score("def f(x): return x + 1", *tests) == 0.0
    assert score("def f(x): return x + 1", *tests, share=True) == 0.5


@pytest.mark.parametrize("program", ["import sys; sys.exit(0)", "import os; os._exit(0)", "def f(x: return",
                                     "raise SystemExit", "print('0' * 32); exit()", "x = [0] * 10**10"])
def test_a_program_that_does_not_come_to_the_end_passes_nothing(program):
    assert score(program, "assert True") == 0.0


def test_a_program_that_hangs_or_leaves_processes_behind_is_ended():
    start = time.monotonic()
    assert score("while True: pass", "assert True", seconds=0.5) == 0.0
    left = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    assert score(left, "assert True", seconds=1.0) in (0.0, 1.0)
    assert time.monotonic() - start < 10


def test_a_program_sees_nothing_of_this_process():
    assert score("import os", "assert set(os.environ) <= {'PATH', 'LC_CTYPE'}") == 1.0


@pytest.mark.parametrize("row", [{}, {"tests": []}, {"tests": [""]}, {"tests": 3}])
def test_a_row_without_tests_is_no_score(row):
    with pytest.raises(ValueError, match="holds no tests"):
        execute("```\npass\n```", "", row, extract=FENCED, tests="tests", seconds=1.0, share=False)


def test_similarity_compares_what_is_extracted():
    assert similarity("<a>abcd</a>", "abcd", {}, extract="<a>(.*)</a>") == 1.0
    assert similarity("nothing", "abcd", {}, extract="<a>(.*)</a>") == 0.0
