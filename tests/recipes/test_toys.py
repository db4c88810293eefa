"""Recipes of published systems: each has a small profile that a backend here runs, and a page of its claims."""

from __future__ import annotations

from pathlib import Path

import pytest

from rldsl.backends.choose import refuse
from rldsl.compiler.resolve import profiles, resolve, resolve_all
from rldsl.compiler.settings import missing_for_run

ROOT = Path(__file__).parents[2] / "recipes"
GENERAL = {"algorithms", "dialects"}
SYSTEMS = sorted(folder for folder in ROOT.iterdir() if folder.is_dir() and folder.name not in GENERAL)
RECIPES = sorted({made.name: (file, made.name) for folder in SYSTEMS for file in sorted(folder.glob("*.rl"))
                  for made in resolve_all(str(file))}.values(), key=str)


@pytest.mark.parametrize("file, name", RECIPES, ids=[name for _, name in RECIPES])
def test_its_small_profiles_can_be_run_here(file, name):
    """A stage may leave out what its pipeline gives; each profile is complete otherwise and asks for no GPU."""
    found = profiles(str(file), name)
    assert "toy" in found
    for profile in found:
        small = resolve(str(file), name, profile=profile)
        refuse(small)
        assert missing_for_run(small.settings, small.span) == []
        assert small.settings.cluster.gpus_per_node is None


@pytest.mark.parametrize("folder", SYSTEMS, ids=lambda f: f.name)
def test_the_page_of_a_folder_names_its_files(folder):
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert "| claim | setting | source |" in page
    told = [f.name for f in folder.glob("*.rl") if f.name not in page and not any(
        f"`{made.name}" in page for made in resolve_all(str(f)))]
    assert told == []
