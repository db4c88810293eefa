"""What goes wrong while a run is running."""

from __future__ import annotations

from rldsl.diagnostics import Diagnostic


class RunError(Exception):
    """Ends a run (exit code 3). `diagnostic` says what happened and what to do; its code is RL6xx."""

    def __init__(self, diagnostic: Diagnostic):
        self.diagnostic = diagnostic
        super().__init__(f"{diagnostic.code} {diagnostic.message}")

    def __reduce__(self) -> tuple[type[RunError], tuple[Diagnostic]]:
        """Errors travel between processes with what they say."""
        return RunError, (self.diagnostic,)
