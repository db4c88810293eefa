"""`toy:addition?digits=2`: the kind, the name and the parameters of a task, as written."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

from rldsl.diagnostics import RecipeError, Span, at

KINDS = ("toy", "gym")


@dataclass(frozen=True)
class TaskSpec:
    """A task's name taken apart; `kind` is "toy", "gym" or "file", `span` where the recipe names it."""

    text: str
    kind: str
    name: str
    parameters: tuple[tuple[str, str], ...]
    span: Span | None


def parse_spec(text: str, span: Span | None = None) -> TaskSpec:
    """Take a task's name apart; RecipeError RL203 or RL205 where parameters are not `name=value` pairs, given once."""
    kind, colon, rest = text.partition(":")
    if not colon or kind not in KINDS:
        return TaskSpec(text, "file", text, (), span)
    name, _, query = rest.partition("?")
    spec = TaskSpec(text, kind, name, (), span)
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise wrong("RL203", spec, f"cannot read the parameters of '{text}'",
                    f'write them as "{kind}:{name}?key=value&other=value"') from None
    names = [key for key, _ in pairs]
    if len(set(names)) < len(names):
        raise wrong("RL205", spec, f"'{text}' gives a parameter twice", "give each parameter once")
    return TaskSpec(text, kind, name, tuple(pairs), span)


def unreadable(spec: TaskSpec, message: str, fix: str) -> RecipeError:
    """RL407 at the place that names the task, ready to be raised: something that is not on this machine."""
    return wrong("RL407", spec, message, fix)


def wrong(code: str, spec: TaskSpec, message: str, fix: str) -> RecipeError:
    """A finding at the place that names the task, ready to be raised."""
    return RecipeError([at(code, message, spec.span, "this task", fix=fix)])


def literal(text: str) -> bool | int | float | str:
    """A parameter's value: `true`, `false`, an integer, a decimal number, or else the text itself."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
