"""Cells: what a notebook calls the code that it runs, asked of IPython where that is running already."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

# of IPython in a terminal; the names that ipykernel gives only its compiler can read
_TERMINAL = re.compile(r"<ipython-input-(\d+)-")


def cell_of(filename: str) -> str | None:
    """Return `analysis.ipynb, cell 7` for the name of a cell's code, or None for any other file.

    The number is what the notebook shows beside the cell, that of its latest run. The notebook's name stands in front
    where the front end tells it.
    """
    number = _number(filename)
    if number is None:
        return None
    notebook = _notebook()
    return f"{notebook}, cell {number}" if notebook else f"cell {number}"


def shell() -> Any | None:
    """Return IPython's shell if this process has one; IPython is never imported for it."""
    ipython = sys.modules.get("IPython")
    asked = getattr(ipython, "get_ipython", None)  # missing while IPython is half imported
    return None if asked is None else asked()


def _number(filename: str) -> str | None:
    running = shell()
    if running is not None:
        known = running.compile.format_code_name(filename)
        if known is not None:
            return str(known[1]).removeprefix("In[").removesuffix("]")
    match = _TERMINAL.match(filename)
    return match[1] if match else None


def _notebook() -> str | None:
    """Return the name of the notebook's file, as VS Code and Jupyter's server say it in their ways."""
    running = shell()
    names = {} if running is None else running.user_ns
    path = names.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME")
    # consoles have sessions too, named after nothing
    return os.path.basename(path) if path and str(path).endswith(".ipynb") else None
