"""Files and imports: one file and everything it reaches, inside the project or the shipped library only."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import rldsl
from rldsl.diagnostics import Diagnostic, Span
from rldsl.grammar import tree
from rldsl.grammar.parser import parse
from rldsl.grammar.read import read

from .report import Report, did_you_mean

PROJECT_FILE = "rldsl.toml"
LIBRARY = "std"
DEEPEST = 100


@dataclass
class Loaded:
    """The files read, by their displayed path, in the order they were reached; the first is the one asked for.

    `syntax_errors` is what reading and parsing them found.
    """

    files: dict[str, tree.File] = field(default_factory=dict)
    syntax_errors: list[Diagnostic] = field(default_factory=list)


def library_root() -> Path:
    """The shipped recipes: inside the installed package, or beside it in a checkout."""
    package = Path(rldsl.__file__).resolve().parent
    installed = package / "_recipes"
    return installed if installed.is_dir() else package.parent / "recipes"


def project_root(file: Path) -> Path:
    """The nearest folder upward that holds rldsl.toml, else the file's own folder."""
    folder = file.resolve().parent
    return next((p for p in (folder, *folder.parents) if (p / PROJECT_FILE).is_file()), folder)


def shown(path: Path) -> str:
    """A path as diagnostics show it: relative to the working directory where it lies below it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def load(path: str, report: Report, root: Path | None = None) -> Loaded:
    """The file and all it imports. A file's own errors are reported and the rest of it is used."""
    loaded = Loaded()
    start = Path(path).resolve()
    inside = library_root() if start.is_relative_to(library_root()) else root or project_root(start)
    _Loader(loaded, report).file(start, inside.resolve(), [])
    return loaded


@dataclass
class _Loader:
    loaded: Loaded
    report: Report

    def file(self, path: Path, root: Path, above: list[Path]) -> None:
        """Reads one file, then what it imports. `above` are the files on the way here."""
        name = shown(path)
        if name in self.loaded.files:
            return
        text, problems = read(name)
        parsed, errors = parse(text, name) if not problems else (_nothing(name), problems)
        self.report.found += errors
        self.loaded.syntax_errors += errors
        self.loaded.files[name] = parsed
        self.report.lets[name] = {s.name: s for s in reversed(parsed.statements) if isinstance(s, tree.Let)}
        for statement in parsed.statements:
            if isinstance(statement, tree.Import):
                self.follow(statement, path, root, [*above, path])

    def follow(self, statement: tree.Import, path: Path, root: Path, above: list[Path]) -> None:
        """One import, from the file `path`."""
        library = not statement.quoted
        target = self.library_file(statement) if library else self.project_file(statement, path, root)
        if target is None:
            return
        if len(above) >= DEEPEST:
            self.report.add("RL103", f"imports are nested more than {DEEPEST} files deep", statement.span,
                            "the next file", fix="import what is needed directly")
            return
        if target in above:
            ring = " → ".join(p.name for p in [*above[above.index(target):], target])
            self.report.add("RL206", f"circular import: {ring}", statement.span, "closes the circle",
                            why="each of these files would have to be read before the other",
                            fix="move what both need into a third file")
            return
        self.file(target, library_root().resolve() if library else root, above)

    def project_file(self, statement: tree.Import, path: Path, root: Path) -> Path | None:
        """A quoted import: relative to the importing file, inside the root, also after links are followed."""
        target = (path.parent / statement.target.replace("\0", "")).resolve()
        if not target.is_relative_to(root):
            self.report.add("RL206", f'"{statement.target}" is outside the project', statement.span,
                            f"the project is {shown(root)}",
                            why="a recipe must mean the same wherever its project is copied",
                            fix=f"copy the file into the project, or put {PROJECT_FILE} in a folder above both")
            return None
        if not os.path.isfile(target):
            near = did_you_mean(target.name, _recipes_in(target.parent))
            self.report.add("RL206", f'there is no file "{statement.target}"', statement.span, "not found", fix=near)
            return None
        return target

    def library_file(self, statement: tree.Import) -> Path | None:
        """`std.grpo` is a file of the library's algorithms, `std.folder.name` one of another folder."""
        head, *rest = statement.target.split(".")
        if head != LIBRARY or not rest:
            self.report.add("RL206", f"`{statement.target}` is not in the shipped library", statement.span,
                            f"the library is `{LIBRARY}`",
                            fix=f'write {LIBRARY}.NAME for a shipped recipe, or a path in quotes: "{head}.rl"')
            return None
        base = library_root().resolve()
        for folder in (base, base / "algorithms"):
            target = folder.joinpath(*rest).with_suffix(".rl").resolve()
            if target.is_file():
                return target
        known = (f"{LIBRARY}.{'.'.join(p.relative_to(base).with_suffix('').parts)}".replace(".algorithms.", ".")
                 for p in sorted(base.rglob("*.rl")))
        self.report.add("RL206", f"the shipped library has no `{statement.target}`", statement.span, "not found",
                        fix=did_you_mean(statement.target, known))
        return None


def _recipes_in(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.glob("*.rl")) if folder.is_dir() else []


def _nothing(name: str) -> tree.File:
    return tree.File(name, "", (), Span(name, 1, 1, 1, 1), whole=False)


def sources(diagnostics: Iterable[Diagnostic], sets: Iterable[str] = ()) -> dict[str, str]:
    """The texts that diagnostics point into, for rendering; the file "--set" has one line per `--set`."""
    files = {label.span.file for d in diagnostics for label in d.labels}
    texts = {name: read(name)[0] for name in sorted(files) if name != "--set"}
    return texts | {"--set": "\n".join(sets)} if "--set" in files else texts
