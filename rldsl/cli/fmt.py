"""Write recipe files in the one style; comments and meaning stay."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from rldsl.diagnostics import Diagnostic, RecipeError, at
from rldsl.grammar.formatter import format_source
from rldsl.grammar.read import decode, read

from .shared.output import WRONG_RECIPE, add_format, emit

STANDARD_INPUT = "-"


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("fmt", help=__doc__, description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE",
                        help="recipe files or folders; none: the whole project; - : standard input to standard output")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a file is not in the style")
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Formats the files, each on its own: one with syntax errors is left alone and reported."""
    if args.files == [STANDARD_INPUT]:
        return _filter(args)
    changed, diagnostics = [], []
    for path in _files(args.files):
        try:
            if _format(path, write=not args.check):
                changed.append(str(path))
        except RecipeError as error:
            diagnostics += error.diagnostics
    verb = "would reformat" if args.check else "reformatted"
    text = "\n".join(f"{verb} {name}" for name in changed)
    code = emit(args, text, {"changed": changed}, diagnostics)
    return code or (WRONG_RECIPE if args.check and changed else 0)


def _filter(args: argparse.Namespace) -> int:
    name = "<stdin>"
    source, problems = decode(sys.stdin.buffer.read(), name)
    try:
        if problems:
            raise RecipeError(problems)
        formatted = format_source(source, name)
    except RecipeError as error:
        return emit(args, diagnostics=error.diagnostics, texts={name: source})
    if not args.check:
        sys.stdout.write(formatted)
    return WRONG_RECIPE if args.check and formatted != source else 0


def _files(names: list[str]) -> list[Path]:
    """The files named, those below the folders named, or all of the project around the working directory."""
    found: dict[Path, None] = {}
    for path in map(Path, names or [_project()]):
        found |= dict.fromkeys(_below(path) if path.is_dir() else [path])
    return list(found)


def _project() -> str:
    from rldsl.compiler.resolve.load import project_root, shown

    return shown(project_root(Path.cwd() / "any"))


def _below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.rl")
                  if not any(part.startswith(".") for part in path.relative_to(folder).parts))


def _format(path: Path, write: bool) -> bool:
    """Whether the file was not in the style. Raises: RecipeError when it cannot be read, parsed or written."""
    text, problems = read(path)
    if problems:
        raise RecipeError(problems)
    formatted = format_source(text, str(path)).encode()
    if formatted == path.read_bytes():
        return False
    if write:
        try:
            _replace(Path(os.path.realpath(path)), formatted)
        except OSError as error:
            raise RecipeError([_unwritable(path, error)]) from error
    return True


def _replace(path: Path, content: bytes) -> None:
    """Writes beside the file and renames, so that an interruption leaves the old file whole."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        shutil.copymode(path, beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _unwritable(path: Path, error: OSError) -> Diagnostic:
    return at("RL206", f"cannot write `{path}`: {(error.strerror or 'not writable').lower()}", None,
              fix="check its permissions")
