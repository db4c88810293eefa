"""A project folder with one small recipe, as the working directory."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from .answers import RECIPE


@pytest.fixture
def project(tmp_path: Path, monkeypatch) -> Path:
    torch.set_num_threads(1)
    (tmp_path / "rldsl.toml").touch()
    (tmp_path / "tiny.rl").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    return tmp_path
