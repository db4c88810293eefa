"""Start a project: a folder with one small recipe that compiles and trains on a laptop."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from rldsl.compiler.resolve.load import PROJECT_FILE, library_root
from rldsl.diagnostics import at

from .shared.output import USAGE, add_format, emit

STARTER = "quickstart"
SETTINGS = "# The root of this project: imports never leave it, and plans and runs are kept below it.\n"
IGNORED = ".rldsl/\nruns/\nmlruns/\nmlflow.db\n"
README = """# {name}

    rldsl compile                 check every recipe, write the plans
    rldsl explain {name}.rl       the objective, the models it needs, what one batch does
    rldsl run {name}.rl           train
    rldsl explain {name}.rl gate.high   where a value comes from

`{name}.rl` is the whole experiment; `rldsl axes` lists what else a recipe can say.
"""


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("new", help=__doc__, description=__doc__)
    parser.add_argument("folder", help="created; must not exist, or be empty")
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Writes the files and says what to do next."""
    folder = Path(args.folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        return _refused(args, f"{folder} exists already and is not an empty folder", "give another name")
    name = re.sub(r"\W|^(?=\d)", "_", folder.resolve().name, flags=re.ASCII) or STARTER
    recipe = (library_root() / f"{STARTER}.rl").read_text(encoding="utf-8")
    start = recipe.index(f"recipe {STARTER}")
    files = {PROJECT_FILE: SETTINGS, ".gitignore": IGNORED, "README.md": README.format(name=name),
             f"{name}.rl": f"# The first experiment of {name}.\n" + recipe[start:].replace(STARTER, name, 1)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            (folder / path).write_text(text, encoding="utf-8")
    except OSError as error:
        return _refused(args, f"cannot write {folder}: {error.strerror}", "make the folder above it writable")
    told = f"made {folder} with {', '.join(files)}\nnext: cd {folder} && rldsl compile && rldsl run {name}.rl"
    return emit(args, told, {"folder": str(folder), "files": list(files)})


def _refused(args: argparse.Namespace, message: str, fix: str) -> int:
    """A folder that cannot be used is a wrong argument, whatever its diagnostic's family."""
    emit(args, diagnostics=[at("RL612", message, None, why="A project begins in a folder of its own.", fix=fix)])
    return USAGE
