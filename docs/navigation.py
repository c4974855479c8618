"""The tree of pages beside each page: those of functions, which no tree names, share one that is made once.

To make it takes as long as the rest of such a page, and there are a thousand of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from posixpath import dirname
from typing import Any

from sphinx.application import Sphinx

Tree = Callable[..., str]


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx what is done, before the theme asks for the tree, and that pages can be written in parallel."""
    trees: dict[str, Tree] = {}

    def share(_: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
        tree = context.get("toctree")
        if tree is not None and page not in named(app.builder.env):
            # links in it are relative to the page's folder
            context["toctree"] = trees.setdefault(dirname(page), cache(tree))

    app.connect("html-page-context", share, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


@cache
def named(environment: Any) -> frozenset[str]:
    """Return the pages that trees name."""
    return frozenset(page for pages in environment.toctree_includes.values() for page in pages)
