"""The command before any of its own modules is read."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import rldsl
from rldsl.__main__ import main


class Pressed:
    """Ctrl-C while the command's modules are found."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "rldsl.cli.main":
            raise KeyboardInterrupt


def test_ctrl_c_while_modules_are_read_is_no_traceback(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "rldsl.cli.main", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Pressed, *sys.meta_path])
    assert main() == 3 and capsys.readouterr().err == "interrupted\n"


def test_the_installed_command_starts_there():
    project = tomllib.loads((Path(rldsl.__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["scripts"] == {"rldsl": f"{main.__module__}:{main.__name__}"}
