"""The `rldsl` command, and `python -m rldsl`."""

import sys


def main() -> int:
    """Runs the command: also while its modules are still being read, Ctrl-C is no traceback."""
    try:
        from rldsl.cli.main import main as command

        return command()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 3


if __name__ == "__main__":
    raise SystemExit(main())
