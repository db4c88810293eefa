"""Recipe files that are no recipes: every command answers, quickly, with the file and the place."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from .answers import RECIPE, refused

BATCH = '{"responses": [{"prompt": "p", "reward": 1, "logp_current": [-1.0], "logp_old": [-1.0]}]}'
FILES = {
    "empty": (b"", "RL202", "bad.rl:1:1"),
    "only comments": (b"# nothing\n\n", "RL202", "bad.rl:1:1"),
    "binary": (bytes(range(1, 256)) * 40, "RL103", "offset 127"),
    "NUL": (RECIPE.encode().replace(b"tiny", b"ti\0ny"), "RL103", "NUL"),
    "not UTF-8": (RECIPE.replace("tiny", "tiné").encode("latin-1"), "RL103", "0xe9"),
    "10 MB": (RECIPE.encode() + b"# more\n" * (10 * 2**20 // 7), "RL103", "1,000,000 characters"),
    "10 MB in one line": (b"recipe a { feedback = " + b"x" * (10 * 2**20) + b" }", "RL103", "1,000,000 characters"),
    "10,000 brackets": (f"recipe a {{ feedback = {'(' * 10_000}1{')' * 10_000} }}".encode(), "RL103", "100 levels"),
    "10,000 blocks": (f"recipe a {'{ a ' * 10_000}{'}' * 10_000}".encode(), "RL103", "100 levels"),
    "10,000 factors": (f"recipe a {{ feedback = {'2 * ' * 10_000}verify(exact) }}".encode(), "RL103", "levels"),
    "imports itself": (b'import "bad.rl"\n' + RECIPE.encode(), "RL206", "bad.rl → bad.rl"),
    "imports nothing": (b'import "nowhere.rl"\n' + RECIPE.encode(), "RL206", "nowhere.rl"),
    "imports from outside": (b'import "../../../../etc/passwd"\n' + RECIPE.encode(), "RL206", "outside the project"),
}
COMMANDS = {"compile": ["compile", "bad.rl"], "run": ["run", "bad.rl"], "explain": ["explain", "bad.rl"],
            "probe": ["probe", "bad.rl", "batch.json"], "diff": ["diff", "bad.rl", "tiny.rl"]}
SECONDS = 5.0


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_is_no_recipe(project: Path, capsys, kind: str, command: str) -> None:
    content, code, says = FILES[kind]
    (project / "bad.rl").write_bytes(content)
    (project / "batch.json").write_text(BATCH)
    start = time.monotonic()
    refused(capsys, 1, code, "bad.rl", says, argv=COMMANDS[command])
    assert time.monotonic() - start < SECONDS
    assert not (project / "runs").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_not_there(project: Path, capsys, command: str) -> None:
    (project / "batch.json").write_text(BATCH)
    refused(capsys, 1, "RL206", "`bad.rl`", "no such file", argv=COMMANDS[command])


@pytest.mark.parametrize("command", ["compile", "run", "explain", "probe"])
def test_a_folder_in_the_place_of_a_file(project: Path, capsys, command: str) -> None:
    (project / "bad.rl").mkdir()
    (project / "batch.json").write_text(BATCH)
    refused(capsys, 1, "RL206", "`bad.rl`", "directory", argv=COMMANDS[command])


def test_a_folder_that_is_no_run_has_no_plan_to_compare(project: Path, capsys) -> None:
    (project / "bad").mkdir()
    refused(capsys, 4, "RL407", "bad/plan.json", argv=["diff", "bad", "tiny.rl"])


@pytest.mark.parametrize("kind", ["binary", "not UTF-8", "10 MB", "10,000 brackets"])
def test_the_formatter_leaves_alone_what_it_cannot_read(project: Path, capsys, kind: str) -> None:
    content, code, says = FILES[kind]
    (project / "bad.rl").write_bytes(content)
    refused(capsys, 1, code, "bad.rl", says, argv=["fmt", "bad.rl"])
    assert (project / "bad.rl").read_bytes() == content
