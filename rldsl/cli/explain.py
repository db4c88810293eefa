"""Explain a recipe, a pipeline, one of its values, a choice of the vocabulary, or a diagnostic's code."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import rldsl
from rldsl.algebra.render_latex import latex
from rldsl.algebra.render_unicode import unicode
from rldsl.axes import discover
from rldsl.compiler.resolve.report import did_you_mean
from rldsl.compiler.stages import Pipeline
from rldsl.diagnostics import RecipeError, at

from .shared.output import add_format, emit
from .shared.target import add_changes, runnable, split

PAGES = Path(rldsl.__file__).parent / "diagnostics" / "pages"
EPILOG = ("examples: explain grpo.rl · explain grpo.rl gate.high · explain gate.clip · explain RL301 · "
          "explain grpo.rl --html grpo.html")


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("explain", help=__doc__, description=__doc__, epilog=EPILOG)
    parser.add_argument("what", metavar="FILE[:NAME]|AXIS.CHOICE|CODE")
    parser.add_argument("path", nargs="?", metavar="PATH", help="a value of the recipe, such as gate.high")
    add_changes(parser)
    parser.add_argument("--html", metavar="FILE", help="write the explanation as a page")
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Decides what is meant by the look of it, and explains that."""
    if re.fullmatch(r"RL\d{3}", args.what):
        _require_read(args, "path", "profile", "sets", "html")
        return _code(args)
    axis, dot, name = args.what.partition(".")
    if dot and axis in discover.FAMILIES and not Path(args.what).exists():
        _require_read(args, "path", "profile", "sets", "html")
        return _choice(args, axis, name)
    target = runnable(args.what, args)
    if isinstance(target, Pipeline):
        return _pipeline(args, target)
    if not args.path:
        return _recipe(args, target)
    _require_read(args, "html")
    return _value(args, target)


def _require_read(args: argparse.Namespace, *unread: str) -> None:
    """RecipeError RL208 for what was given, and what is explained does not read."""
    words = {"path": "a path", "profile": "--profile", "sets": "--set", "html": "--html"}
    if found := [words[name] for name in unread if getattr(args, name)]:
        of = f"{args.what} {args.path}" if "path" not in unread else args.what
        raise RecipeError([at("RL208", f"{' and '.join(found)} beside {of} would have no effect.", None,
                              fix="Leave it out, or name a recipe's file.")])


def _code(args: argparse.Namespace) -> int:
    page = PAGES / f"{args.what}.md"
    if not page.is_file():
        known = sorted(p.stem for p in PAGES.glob("RL*.md"))
        raise RecipeError([at("RL201", f"There is no code {args.what}.", None,
                              fix=did_you_mean(args.what, known) or "`rldsl compile` prints the codes it means.")])
    text = page.read_text(encoding="utf-8").rstrip()
    return emit(args, text, {"code": args.what, "page": text})


def _choice(args: argparse.Namespace, axis: str, name: str) -> int:
    from rldsl.compiler.describe import describe

    d = describe(axis, name)
    if d is None:
        raise RecipeError([at("RL201", f"The axis {axis} has no choice `{name}`.", None,
                              fix=did_you_mean(name, discover.names(axis)) or f"`rldsl axes {axis}` lists them.")])
    formulas = [{"what": what, "unicode": unicode(e), "latex": latex(e)} for what, e in d.formulas]
    lines = [d.call, "", d.doc]
    if d.parameters:
        lines += ["", "Parameters"]
        for p in d.parameters:
            default = "required" if p.default is None else f"default {p.default}"
            lines += [f"  {p.name}: {p.accepts}; {default}", *([f"      {p.doc}"] if p.doc else [])]
    if formulas:
        lines += ["", "Formula", *(f"  {f['what']} = {f['unicode']}" for f in formulas)]
    lines += _list("Needs", d.needs) + _list("Gives", d.gives) + _list("Examples", d.examples)
    payload = {"axis": axis, "name": name, "call": d.call, "doc": d.doc, "version": d.version, "formulas": formulas,
               "parameters": [vars(p) for p in d.parameters], "needs": list(d.needs), "gives": list(d.gives),
               "examples": list(d.examples)}
    return emit(args, "\n".join(lines), {"choice": payload})


def _list(title: str, items: tuple[str, ...]) -> list[str]:
    return ["", title, *(f"  {item}" for item in items)] if items else []


def _value(args: argparse.Namespace, recipe: Any) -> int:
    """Where a value comes from: every place that set it, oldest first."""
    steps = recipe.origins.get(args.path)
    if steps is None:
        raise RecipeError([at("RL207", f"`{recipe.name}` has no `{args.path}`.", recipe.span, "in this recipe",
                              fix=did_you_mean(args.path, recipe.origins) or
                              "Write AXIS.PARAMETER or BLOCK.SETTING, such as optim.epochs.")])
    rows = [(s.how if s.how == "--set" else f"{s.how} {s.recipe}".strip(), s.value,
             f"{s.span.file}:{s.span.line}:{s.span.column}" if s.span else "") for s in steps]
    widths = [max(len(row[i]) for row in rows) for i in range(2)] if rows else [0, 0]
    lines = [f"  {how:<{widths[0]}}  {value:<{widths[1]}}  {place}".rstrip() for how, value, place in rows]
    head = f"{args.path} = {steps[-1].value}" if steps else f"{args.path} is not set"
    payload = [{"how": s.how, "recipe": s.recipe, "value": s.value, "file": s.span.file if s.span else None,
                "line": s.span.line if s.span else None} for s in steps]
    return emit(args, "\n".join([head, *lines]), {"path": args.path, "origins": payload})


def _pipeline(args: argparse.Namespace, pipeline: Pipeline) -> int:
    from rldsl.compiler import explain_pipeline
    from rldsl.compiler.pipeline import compile_pipeline

    if args.path:
        raise RecipeError([at("RL207", f"`{pipeline.name}` is a pipeline, and `{args.path}` a value of a recipe.",
                              pipeline.span, "a pipeline",
                              fix=f"Name the stage: {split(args.what)[0]}:{pipeline.name}.STAGE {args.path}")])
    found = compile_pipeline(pipeline)[1]
    if args.html:
        _write(args.html, explain_pipeline.to_html(pipeline))
        return emit(args, f"wrote {args.html}", {"html": args.html}, found, notes=True)
    if args.format == "json":
        return emit(args, payload={"explanation": explain_pipeline.to_json(pipeline)}, diagnostics=found)
    return emit(args, explain_pipeline.to_text(pipeline), diagnostics=found, notes=True)


def _recipe(args: argparse.Namespace, recipe: Any) -> int:
    from rldsl.compiler.check import check
    from rldsl.compiler.explain import explain

    found = check(recipe)
    if any(d.severity == "error" for d in found):
        raise RecipeError(found)
    e = explain(recipe)
    if args.html:
        from rldsl.compiler.explain_html import html

        _write(args.html, html(e))
        return emit(args, f"wrote {args.html}", {"html": args.html}, found, notes=True)
    if args.format == "json":
        from rldsl.compiler.explain_json import to_json

        return emit(args, payload={"explanation": to_json(e)}, diagnostics=found)
    from rldsl.compiler.explain_text import text

    return emit(args, text(e), diagnostics=found, notes=True)


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise RecipeError([at("RL407", f"Cannot write {path}: {error.strerror}.", None,
                              fix="Give a path in a folder that can be written.")]) from error
