import io
import json
import sys

import pytest

from rldsl.cli.main import main

UGLY, PRETTY = "let a=1  # one\r\n", "let a = 1  # one\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "rldsl.toml").write_text("")
    (tmp_path / "inner" / ".rldsl").mkdir(parents=True)
    for place in ("a.rl", "inner/b.rl", "inner/.rldsl/c.rl"):
        (tmp_path / place).write_bytes(UGLY.encode())
    (tmp_path / "fine.rl").write_text(PRETTY)
    monkeypatch.chdir(tmp_path / "inner")
    return tmp_path


def content(path):
    return path.read_bytes().decode()


def test_without_files_the_whole_project_is_formatted(project, capsys):
    assert main(["fmt"]) == 0
    assert capsys.readouterr().out.count("reformatted") == 2
    assert content(project / "a.rl") == content(project / "inner/b.rl") == PRETTY
    assert content(project / "inner/.rldsl/c.rl") == UGLY
    assert main(["fmt", "--check"]) == 0


def test_check_changes_nothing(project, capsys):
    assert main(["fmt", "--check", "b.rl"]) == 1
    assert capsys.readouterr().out == "would reformat b.rl\n"
    assert content(project / "inner/b.rl") == UGLY


def test_a_file_with_syntax_errors_is_left_alone_and_the_others_are_formatted(project, capsys):
    (project / "inner/bad.rl").write_text("let a=(1\n")
    assert main(["fmt", "bad.rl", "b.rl"]) == 1
    assert "error[RL102]" in capsys.readouterr().err
    assert content(project / "inner/bad.rl") == "let a=(1\n" and content(project / "inner/b.rl") == PRETTY


def test_json_goes_to_standard_output_alone(project, capsys):
    (project / "inner/bad.rl").write_text("let a=(1\n")
    assert main(["fmt", "--format", "json", ".", "missing.rl"]) == 1
    out, err = capsys.readouterr()
    payload = json.loads(out)
    assert (payload["changed"], err) == (["b.rl"], "")
    assert sorted(d["code"] for d in payload["diagnostics"]) == ["RL102", "RL206"]


@pytest.mark.parametrize(("given", "code", "out"), [(UGLY, 0, PRETTY), ("let", 1, ""), ("\udcff", 1, "")])
def test_standard_input(monkeypatch, capsys, given, code, out):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode(errors="surrogateescape"))))
    assert main(["fmt", "-"]) == code
    shown = capsys.readouterr()
    assert shown.out == out and ("error[RL10" in shown.err) == bool(code)


def test_a_link_stays_a_link(project):
    (project / "inner/link.rl").symlink_to(project / "a.rl")
    assert main(["fmt", "link.rl"]) == 0
    assert (project / "inner/link.rl").is_symlink() and content(project / "a.rl") == PRETTY
