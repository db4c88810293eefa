"""Diagnostics: a leaf package that imports nothing of rldsl."""

from .diagnostic import Diagnostic, Label, RecipeError, at
from .span import Span
from .together import together

__all__ = ["Diagnostic", "Label", "RecipeError", "Span", "at", "together"]
