"""Traces as one self-contained HTML page: the colour of a token is its advantage."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .traces import Piece, Trace

STYLE = """
:root { color-scheme: light dark; --ink: light-dark(#1c2530, #e6ebf1); --paper: light-dark(#fff, #14191f);
  --rule: light-dark(#dfe4ea, #2d3742); }
body { font: 15px/1.6 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; }
article { border-top: 1px solid var(--rule); padding: 0.8rem 0; } h2 { font-size: 1rem; margin: 0 0 0.4rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0.4rem 0; font: 14px/1.7 ui-monospace, monospace; }
pre.prompt { border-left: 3px solid var(--rule); padding-left: 0.7rem; opacity: 0.85; }
td, th { text-align: left; padding: 0.1rem 1.2rem 0.1rem 0; font-weight: 400; }
td { font-variant-numeric: tabular-nums; }
.small { font-size: 0.85em; opacity: 0.75; } .end { opacity: 0.6; } span.masked { text-decoration: line-through; }
pre span { border-radius: 2px; }
"""
UP, DOWN = "31, 111, 235", "224, 108, 0"
"""Blue teaches more of a token, orange less of it; the two can be told apart without seeing red or green."""
STRONGEST = 0.65


def page(run: str, batch: int, traces: Sequence[Trace], says: Sequence[str] = ()) -> str:
    """The page of a batch. `says` is what detectors said after it."""
    most = max((abs(p.advantage) for t in traces for p in t.pieces), default=0.0)
    title = escape(f"{run}, batch {batch}")
    notes = "".join(f"<p><strong>{escape(text)}</strong></p>" for text in says)
    scale = (f"<span style='{_colour(1.0, 1.0)}'>A = +{most:.3g}</span> <span style='{_colour(-1.0, 1.0)}'>A = "
             f"−{most:.3g}</span>, paler towards 0" if most else "All advantages are 0")
    legend = (f"<p class='small'>{len(traces)} responses, from the highest mean advantage to the lowest. {scale}; "
              "<span class='masked'>struck out</span>: masked by the distribution. Point at a token for its "
              "numbers.</p>")
    body = "".join(_article(t, most) for t in traces)
    return (f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>"
            f"<meta name='viewport' content='width=device-width, initial-scale=1'><style>{STYLE}</style></head>"
            f"<body><h1>{title}</h1>{notes}{legend}{body}</body></html>\n")


def _article(t: Trace, most: float) -> str:
    name = escape(t.name, quote=True)
    old, new = t.versions
    facts = f"{len(t.pieces)} pieces, ended by {escape(t.finish)}, weights {old if old == new else f'{old} to {new}'}"
    rows = "".join(f"<tr><th>{escape(part)}</th><td>{value:.4g}</td></tr>" for part, value in t.parts)
    answer = f"<p class='small'>expected: {escape(t.answer)}</p>" if t.answer else ""
    return (f"<article id='{name}'><h2>{name} <span class='small'>{facts}</span></h2>"
            f"<pre class='prompt'>{escape(t.prompt)}</pre><pre>{''.join(_token(p, most) for p in t.pieces)}</pre>"
            f"<table>{rows}</table>{answer}</article>")


def _token(p: Piece, most: float) -> str:
    numbers = [f"A = {p.advantage:.4g}"]
    numbers += [f"log μ = {p.logp:.4g}"] if p.logp is not None else []
    numbers += [f"d = {p.correction:.4g}"] if p.correction is not None else []
    masked = " class='masked'" if p.correction == 0.0 else ""
    text = escape(p.text).replace("\n", "<span class='end'>↵</span>\n") if p.text else "<span class='end'>⟨end⟩</span>"
    return f"<span{masked} style='{_colour(p.advantage, most)}' title='{', '.join(numbers)}'>{text}</span>"


def _colour(advantage: float, most: float) -> str:
    share = abs(advantage) / most if most else 0.0
    return f"background: rgba({UP if advantage > 0 else DOWN}, {STRONGEST * share:.2f})"
