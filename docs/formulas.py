"""Formulas of the site as MathML, which browsers draw by themselves: no script, no font, nothing to fetch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from latex2mathml.converter import convert

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# TeX sets capital Greek letters upright, and MathML every single letter in italics
CAPITAL = re.compile("<mi>(&#x003[9A][0-9A-F];)</mi>")


def mathml(formula: str, display: str) -> str:
    """Return a formula of TeX as an element of HTML, `display` being `inline` or `block`."""
    return CAPITAL.sub(r'<mi mathvariant="normal">\1</mi>', convert(formula, display=display))


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula that stands in a line."""
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula that stands by itself."""
    translator.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Make this the way in which Sphinx writes formulas."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
