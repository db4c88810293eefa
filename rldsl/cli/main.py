"""The `rldsl` command. Each file beside this one that has `add` and `run` is a command, imported only when used."""

from __future__ import annotations

import argparse
import ast
import os
import sys
from importlib import import_module
from pathlib import Path

from rldsl.diagnostics import RecipeError
from rldsl.runtime.errors import RunError

from .shared.output import RUN_FAILED, USAGE, emit

HERE = Path(__file__).parent
NOT_COMMANDS = {"main"}
SPIN_COUNT = "5000"
"""OpenMP threads of torch otherwise spin so long between small operations that they slow each other down."""


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns the exit code: 0 fine, 1 recipe wrong, 2 usage, 3 run failed, 4 resources."""
    os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # a terminal without Greek letters still gets the rest
    argv = list(sys.argv[1:] if argv is None else argv)
    args: argparse.Namespace | None = None
    try:
        args = _parse(argv)
        return import_module(f"rldsl.cli.{args.command}").run(args)
    except SystemExit as exit:
        return exit.code if isinstance(exit.code, int) else USAGE
    except RecipeError as error:
        return emit(args or argparse.Namespace(), diagnostics=error.diagnostics)
    except RunError as error:
        return emit(args or argparse.Namespace(), diagnostics=[error.diagnostic])
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return RUN_FAILED
    except Exception as error:
        return _bug(error, argv)


def commands() -> dict[str, str]:
    """{command: first line of its file's docstring}, read without importing anything."""
    found = {}
    for file in sorted(HERE.glob("[a-z]*.py")):
        if file.stem not in NOT_COMMANDS:
            doc = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            found[file.stem.removesuffix("_")] = doc.partition("\n")[0]
    return found


def _parse(argv: list[str]) -> argparse.Namespace:
    from rldsl import __version__

    parser = argparse.ArgumentParser(prog="rldsl", description="Recipes for reinforcement learning of language models.")
    parser.add_argument("--version", action="version", version=f"rldsl {__version__}")
    chosen = argv[0] if argv and (HERE / f"{argv[0]}.py").is_file() and argv[0] not in NOT_COMMANDS else None
    known = {} if chosen else commands()
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    if chosen:
        import_module(f"rldsl.cli.{chosen}").add(subparsers)
    for name, says in known.items():
        subparsers.add_parser(name, help=says, add_help=False)
    if not argv:
        parser.print_help(sys.stderr)
        raise SystemExit(USAGE)
    return parser.parse_args(argv)


def _bug(error: Exception, argv: list[str]) -> int:
    """An exception that nobody foresaw: a file with everything we need to find it, and no traceback on screen."""
    import platform
    import tempfile
    import traceback

    from rldsl import __version__

    report = "\n".join([f"rldsl {__version__}, Python {platform.python_version()}, {platform.platform()}",
                        f"arguments: {argv}", "", *traceback.format_exception(error)])
    handle, name = tempfile.mkstemp(prefix="rldsl-crash-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(report)
    print(f"this is a bug in rldsl: {type(error).__name__}: {error}\n"
          f"please send the file {name} with your report; it holds the arguments and the place in our code",
          file=sys.stderr)
    return RUN_FAILED
