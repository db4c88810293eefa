"""Drawn examples are the same in every run, so that a change is what makes a test fail; to draw others:

    python -m pytest tests/unit --hypothesis-profile default
"""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.load_profile("same")
