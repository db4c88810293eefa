"""Combinations of choices that are refused (RL3xx, RL4xx) or warned about (RL5xx): one file each.

A file holds `check(recipe) -> Iterator[Diagnostic]`; the directory is the list. Rules read traits, formulas and
typed properties of choices, never their names.
"""
