"""Compare the runs of a sweep or an ablation over seeds, with what may be concluded, or the stages of a pipeline."""

from __future__ import annotations

import argparse
from pathlib import Path

from rldsl.diagnostics import RecipeError, at

from .shared.output import add_format, emit
from .shared.target import home

TEXTS = ("terminal", "markdown", "latex", "html")


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("report", help=__doc__, description=__doc__)
    parser.add_argument("name", nargs="?", metavar="NAME", help="a sweep or an ablation by its name, or the file it is "
                        "frozen in (default: the newest); or the folder of a pipeline's run")
    parser.add_argument("--metric", metavar="NAME", help="compare another metric than the one it was started with")
    parser.add_argument("--out", metavar="FILE", type=Path, help="write there instead of to standard output")
    add_format(parser, *TEXTS[1:])


def run(args: argparse.Namespace) -> int:
    """Prints or writes the report; 0, or 4 where nothing can be compared."""
    from rldsl.experiments.comparison import compare, to_json
    from rldsl.experiments.expansion import read_expansion
    from rldsl.experiments.pipeline import is_pipeline

    chosen = args.format
    args.format = "json" if chosen == "json" else "terminal"  # what is wrong is not told in LaTeX
    if args.name is not None and is_pipeline(Path(args.name)):
        return _pipeline(Path(args.name), chosen, args)
    root = home("here")
    expansion = read_expansion(_frozen(args.name, root))
    found = compare(expansion, root, args.metric or expansion.metric)
    if chosen == "json":
        return emit(args, payload={"report": to_json(found)})
    return _write(_rendered(found, chosen), args)


def _pipeline(folder: Path, chosen: str, args: argparse.Namespace) -> int:
    """What the stages of a pipeline's run came to."""
    from rldsl.experiments import pipeline_report as report
    from rldsl.experiments.pipeline import stages_of

    plan = stages_of(folder)
    found = report.rows(plan, folder)
    if chosen == "json":
        return emit(args, payload={"report": report.to_json(plan.name, found)})
    render = {"terminal": report.to_text, "markdown": report.to_markdown, "latex": report.to_latex,
              "html": report.to_html}[chosen]
    return _write(render(plan.name, found), args)


def _write(text: str, args: argparse.Namespace) -> int:
    """To standard output, or into the file that was asked for."""
    if args.out is None:
        return emit(args, text)
    try:
        args.out.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise RecipeError([at("RL407", f"cannot write {args.out}: {error.strerror}", None,
                              fix="give a path in a folder that can be written")]) from error
    return emit(args, f"wrote {args.out}")


def _rendered(found, chosen: str) -> str:
    if chosen == "html":
        from rldsl.experiments.report_html import to_html

        return to_html(found)
    from rldsl.experiments import report_text

    return {"terminal": report_text.to_text, "markdown": report_text.to_markdown,
            "latex": report_text.to_latex}[chosen](found)


def _frozen(name: str | None, root: Path) -> Path:
    """The newest expansion of that name."""
    from rldsl.diagnostics.suggest import did_you_mean
    from rldsl.experiments.expansion import FOLDER

    if name is not None and name.endswith(".json"):
        return Path(name)
    files = sorted((root / FOLDER).glob("*.json"), key=lambda f: f.stat().st_mtime)
    fitting = [f for f in files if name in (None, f.stem.rpartition("-")[0], f.stem)]
    if not fitting:
        known = dict.fromkeys(f.stem.rpartition("-")[0] for f in files)
        raise RecipeError([at("RL407", f"there is no sweep or ablation `{name}` in {root}" if name else
                              f"there is no sweep or ablation in {root}", None,
                              fix=did_you_mean(name or "", known) or "run `rldsl sweep` or `rldsl ablate` first")])
    return fitting[-1]
