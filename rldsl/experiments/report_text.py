"""A comparison for a terminal, as Markdown and as LaTeX: the same tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence

from .comparison import Comparison
from .findings import HEAD, attribution, cells, changes, evidence, limits
from .text_table import aligned

ESCAPES = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
           "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "→": r"$\to$", "–": "--",
           "−": "$-$", "×": r"$\times$", "<": "$<$", ">": "$>$", "|": "$|$"}
FORBIDS = "What this does not allow to conclude"


def to_text(c: Comparison) -> str:
    """Aligned columns under headings."""
    lines: list[str] = []
    for section in c.sections:
        lines += [f"{section.title} ({section.says})", *_indent(aligned(HEAD, [cells(r) for r in section.rows])), ""]
    shares = attribution(c)
    if shares is not None:
        lines += [shares[0], *_indent(aligned(("change", "gain"), shares[1])), ""]
    for label, sentences in changes(c):
        lines += [label, *_indent(sentences)]
    lines += ["", "Evidence", *_indent(aligned(("", ""), evidence(c))[1:]), "", FORBIDS]
    return "\n".join([*lines, *(f"  - {x}" for x in limits(c))])


def _indent(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def to_markdown(c: Comparison) -> str:
    """Tables of GitHub's Markdown."""
    lines = [f"# {_md(c.expansion.name)}", ""]
    for section in c.sections:
        lines += [f"## {section.title}", "", f"{_md(section.says)[0].upper()}{_md(section.says)[1:]}.", "",
                  *md_table(HEAD, [cells(r) for r in section.rows]), ""]
    shares = attribution(c)
    if shares is not None:
        lines += ["## Attribution", "", shares[0], "", *md_table(("change", "gain"), shares[1]), ""]
    if told := changes(c):
        lines += ["## What each row changes", ""]
        lines += [f"- **{_md(label)}**: {_md(' '.join(sentences))}" for label, sentences in told]
        lines.append("")
    lines += ["## Evidence", "", *md_table(("", ""), evidence(c)), "", f"## {FORBIDS}", ""]
    return "\n".join([*lines, *(f"- {_md(x)}" for x in limits(c))])


def _md(text: str) -> str:
    """Escaped, but for what stands in backticks, where a backslash would be shown."""
    parts = text.replace("|", "\\|").split("`")
    return "`".join(p if i % 2 else p.replace("*", "\\*").replace("_", "\\_") for i, p in enumerate(parts))


def md_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table of GitHub's Markdown."""
    return [f"| {' | '.join(_md(x) for x in row)} |" for row in (head, ["---"] * len(head), *rows)]


def to_latex(c: Comparison) -> str:
    """`booktabs` tables, one a section, and lists; to be input into a document."""
    lines = [r"% needs \usepackage{booktabs}"]
    for section in c.sections:
        caption = f"{section.title}: {c.metric} over {len(c.expansion.seeds)} seeds; {section.says}."
        lines += [*tabular(HEAD, [cells(r) for r in section.rows], caption), ""]
    shares = attribution(c)
    if shares is not None:
        lines += [*tabular(("change", "gain"), shares[1], shares[0]), ""]
    lines += [r"\paragraph{Evidence}", r"\begin{itemize}"]
    lines += [rf"  \item {_tex(what)}: {_tex(value)}" for what, value in evidence(c)]
    lines += [r"\end{itemize}", rf"\paragraph{{{FORBIDS}}}", r"\begin{itemize}"]
    return "\n".join([*lines, *(rf"  \item {_tex(x)}" for x in limits(c)), r"\end{itemize}"])


def tabular(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> list[str]:
    """A table of LaTeX's `booktabs`."""
    body = [" & ".join(_tex(x) for x in row) + r" \\" for row in (head, *rows)]
    columns = "l" + "r" * (len(head) - 1)
    return [r"\begin{table}[t]", r"\centering\small", rf"\begin{{tabular}}{{{columns}}}", r"\toprule", body[0],
            r"\midrule", *body[1:], r"\bottomrule", r"\end{tabular}", rf"\caption{{{_tex(caption)}}}", r"\end{table}"]


def _tex(text: str) -> str:
    return "".join(ESCAPES.get(character, character) for character in text)
