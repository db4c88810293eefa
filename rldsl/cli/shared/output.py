"""What every command prints alike: results to stdout, diagnostics to stderr; JSON and SARIF to stdout alone."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rldsl.diagnostics import Diagnostic

WRONG_RECIPE, USAGE, RUN_FAILED, RESOURCES = 1, 2, 3, 4


def add_format(parser: ArgumentParser, *more: str) -> None:
    """The `--format` option; `more` are formats that only this command knows."""
    parser.add_argument("--format", choices=("terminal", "json", *more), default="terminal",
                        help="how to report (default: terminal)")


def exit_code(diagnostics: Iterable[Diagnostic]) -> int:
    """0 without errors; 1 if the recipe is wrong, 3 if a run failed, 4 if only resources are missing."""
    families = {d.code[:3] for d in diagnostics if d.severity == "error"}
    if not families:
        return 0
    if "RL6" in families:
        return RUN_FAILED
    return RESOURCES if families == {"RL4"} else WRONG_RECIPE


def emit(args: Namespace, text: str = "", payload: Mapping[str, Any] | None = None,
         diagnostics: Sequence[Diagnostic] = (), texts: Mapping[str, str] | None = None, notes: bool = False) -> int:
    """Prints a result and what there is to say about it; the exit code that follows from the diagnostics. `texts`:
    sources that are no files. `notes` says what is legal and usual too, which most recipes have."""
    chosen = getattr(args, "format", "terminal")
    diagnostics = [d for d in diagnostics if notes or d.severity != "info"]
    if chosen == "json":
        from rldsl.diagnostics.machine import as_json
        from rldsl.diagnostics.render import in_order

        found = [as_json(d) for d in in_order(diagnostics)]
        print(json.dumps({"version": 1, "diagnostics": found, **(payload or {})}, indent=2, ensure_ascii=False))
        return exit_code(diagnostics)
    if chosen == "sarif":
        from rldsl.diagnostics.render import render

        print(render(diagnostics, {}, style="sarif"))
        return exit_code(diagnostics)
    if diagnostics:
        from rldsl.compiler.resolve import sources
        from rldsl.diagnostics.render import render, summary

        known = {**sources(diagnostics, getattr(args, "sets", ())), **(texts or {})}
        print(render(diagnostics, known, style=chosen, color=sys.stderr.isatty()), file=sys.stderr)
        if chosen == "terminal":
            print(f"\n{summary(diagnostics)}", file=sys.stderr)
    if text:
        print(text)
    return exit_code(diagnostics)
