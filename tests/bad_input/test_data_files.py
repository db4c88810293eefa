"""Data that cannot be trained on: the file, the row and the place in the recipe are named before anything starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rldsl.runtime.journal import read_journal

from .answers import call, civil, refused

GOOD = [{"prompt": f"{i}+1=", "answer": str(i + 1)} for i in range(6)]
LONG = {"prompt": "9" * 600, "answer": "1"}
ROWS = {
    "a missing column": ([*GOOD, {"prompt": "x"}], "row 7: there is no column 'answer'; there are: prompt"),
    "no known column": ([{"question": "x"}], "row 1: there is no column 'prompt'; there are: question"),
    "a list for a prompt": ([*GOOD, {"prompt": ["x"], "answer": "1"}], "row 7: column 'prompt' holds a list"),
    "an object for an answer": ([{"prompt": "x", "answer": {"a": 1}}], "column 'answer' holds nested columns"),
    "null for an answer": ([*GOOD[:2], {"prompt": "x", "answer": None}], "row 3: column 'answer' holds nothing"),
    "an empty prompt": ([{"prompt": " ", "answer": "1"}], "row 1: the prompt is empty"),
    "an empty answer": ([{"prompt": "x", "answer": ""}], "row 1: column 'answer', the answer, is empty"),
    "an empty object": ([*GOOD[:1], {}], "row 2: there is no column 'prompt'; there are: none"),
    "an unknown character": ([*GOOD, {"prompt": "日本", "answer": "1"}], "data.jsonl:7: The toy tokenizer"),
}
LINES = {
    "nothing in it": ("", "has no rows"),
    "an empty line": ('{"prompt": "x", "answer": "1"}\n\n', "line 2 is empty"),
    "a broken line": ('{"prompt": "x", "answer": "1"}\n{"prompt": "x", "ans\n', "line 2 is not JSON"),
    "a list in a line": ("[1, 2]\n", "line 1 is not an object"),
    "a NaN": ('{"prompt": "x", "answer": NaN}\n', "line 1 is not JSON: NaN"),
    "100,000 brackets": ('{"prompt": "x", "answer": "1", "more": ' + "[" * 100_000 + "\n", "line 1 is not JSON"),
    "another encoding": ('{"prompt": "caf\xe9", "answer": "1"}\n', "line 1 is not UTF-8"),
}
SET = ["--set", 'data.train="data.jsonl"']
RUN = ["run", "tiny.rl", "--out", "here", *SET]


def written(rows: list) -> None:
    Path("data.jsonl").write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8")


@pytest.mark.parametrize("kind", ROWS)
def test_a_row_that_cannot_be_used_is_named(project: Path, capsys, kind: str) -> None:
    rows, says = ROWS[kind]
    written(rows)
    refused(capsys, 4, "RL407", "data.jsonl", says, "--set:1:12", argv=RUN)
    assert not Path("here").exists()


@pytest.mark.parametrize("kind", LINES)
def test_a_line_that_cannot_be_read_is_named(project: Path, capsys, kind: str) -> None:
    text, says = LINES[kind]
    Path("data.jsonl").write_bytes(text.encode("latin-1"))
    refused(capsys, 4, "RL407", "data.jsonl", says, "--set:1:12", argv=RUN)
    assert not Path("here").exists()


def test_preflight_says_the_same_without_a_run(project: Path, capsys) -> None:
    written([{"prompt": "x"}])
    refused(capsys, 4, "RL407", "row 1: there is no column 'answer'", argv=["compile", "tiny.rl", "--preflight", *SET])


def test_the_place_is_in_the_recipes_own_file(project: Path, capsys) -> None:
    recipe = Path("tiny.rl").read_text()
    Path("tiny.rl").write_text(recipe.replace("toy:largest", "nowhere.jsonl"))
    refused(capsys, 4, "RL407", "nowhere.jsonl", "tiny.rl:11:18", argv=["run", "tiny.rl", "--out", "here"])


@pytest.mark.parametrize("name, says", [("data.csv", "not in a format"), ("data.parquet", "not a Parquet file"),
                                        ("empty.parquet", "0 bytes"), (".", "no 'train' split"),
                                        ("nowhere.jsonl", "no file or folder")])
def test_a_file_of_another_kind(project: Path, capsys, name: str, says: str) -> None:
    Path("data.csv").write_text("prompt,answer\n")
    Path("data.parquet").write_bytes(b"PAR1 and then junk")
    Path("empty.parquet").touch()
    refused(capsys, 4, "RL407", says, argv=["run", "tiny.rl", "--out", "here", "--set", f'data.train="{name}"'])


def test_a_prompt_over_the_limit_is_an_error_with_its_count(project: Path, capsys) -> None:
    written([*GOOD, LONG, LONG])
    refused(capsys, 4, "RL408", "2 of 8 prompts of data.jsonl are longer than 508 tokens", "too_long: drop",
            "--set:1:12", argv=RUN)
    assert not Path("here").exists()


def test_prompts_over_the_limit_are_left_out_and_counted_where_the_recipe_says_so(project: Path, capsys) -> None:
    written([*GOOD, LONG, LONG])
    answer = call(capsys, *RUN, "--set", "data.too_long=drop")
    civil(answer)
    assert answer.code == 0 and answer.says("2 of 8 prompts of data.jsonl are left out")
    events = list(read_journal(Path("here")))
    assert [e.data["code"] for e in events if e.kind == "warning"] == ["RL408"]
    drawn = {row for e in events if e.kind == "step" for _, row, _ in e.data["prompts"]}
    assert drawn == set(range(6))


def test_nothing_left_of_the_data_is_an_error(project: Path, capsys) -> None:
    written([LONG])
    refused(capsys, 4, "RL408", "no prompt of at most 508 tokens", argv=[*RUN, "--set", "data.too_long=drop"])


def test_everything_missing_is_said_at_once(project: Path, capsys) -> None:
    written([{"prompt": "x"}])
    answer = refused(capsys, 1, "RL407", "row 1", "no toy model", argv=[*RUN, "--set", 'model.policy="toy:gpt-1x16"'])
    assert answer.says("--set:1:12", "--set:2:14")


@pytest.mark.parametrize("setting, code, place, says", [
    ('data.train="toy:additon"', "RL201", "--set:1:12", "Write toy:addition"),
    ('data.train="toy:addition?digit=2"', "RL205", "--set:1:12", "It has: digits"),
    ('model.policy="toy:lama-1x16"', "RL201", "--set:1:14", "such as toy:llama-2x64"),
    ('model.policy="toy:llama-1x17"', "RL201", "--set:1:14", "a multiple of 16"),
    ('evaluate="toy:nonsense"', "RL201", "--set:1:10", "There are: addition"),
    ('data.template="{{ prompt"', "RL203", "--set:1:15", "Write Jinja"),
    ('data.template="{{ question }}"', "RL201", "tiny.rl:11:18", "'question' is undefined")])
def test_names_of_what_comes_with_rldsl_are_judged_by_compile_alone(project, capsys, setting, code, place, says):
    refused(capsys, 1, code, place, says, argv=["compile", "tiny.rl", "--set", setting])


def test_files_stay_with_the_preflight(project, capsys):
    names = ('data.train="nowhere.jsonl"', 'model.policy="nowhere/model"', 'data.template="{{ question }}"')
    assert call(capsys, "compile", "tiny.rl", *(x for n in names for x in ("--set", n))).code == 0


def test_a_file_has_no_scorer_of_its_own(project, capsys):
    written(GOOD)
    argv = [*RUN, "--set", "feedback=verify(task)"]
    refused(capsys, 1, "RL304", "data.jsonl brings no scorer", "--set:1:12", argv=argv)
    assert not Path("here").exists()
