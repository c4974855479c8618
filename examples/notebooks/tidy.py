"""Tidying: what is kept of a run is small, and the same where nothing of interest changed."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

LARGEST = 1_000_000  # bytes of a notebook's file
COLOURS = 64  # enough for a plot, whose shades are those of soft edges

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def tidied(notebook: Any) -> Any:
    """`notebook` without what differs from run to run and machine to machine, its pictures small."""
    notebook.metadata = METADATA
    for cell in notebook.cells:
        cell.metadata = {"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {}
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
            for output in cell.outputs:
                shrink(output.get("data", {}))
                output.pop("transient", None)
    return notebook


def joined(outputs: list[Any]) -> list[Any]:
    """Neighbouring pieces of one stream as one: how text is cut depends on the moment."""
    kept: list[Any] = []
    for output in outputs:
        last = kept[-1] if kept else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            kept.append(output)
    return kept


def shrink(data: dict[str, Any]) -> None:
    """Give a still PNG a palette."""
    from PIL import Image

    if "image/png" not in data:
        return
    content = base64.b64decode(data["image/png"])
    picture = Image.open(io.BytesIO(content))
    if picture.mode == "P" or getattr(picture, "is_animated", False):
        return
    smaller = io.BytesIO()
    method = Image.Quantize.FASTOCTREE  # the one that knows transparency
    picture.quantize(COLOURS, method=method).save(smaller, "PNG", optimize=True)
    if smaller.tell() < len(content):
        data["image/png"] = base64.b64encode(smaller.getvalue()).decode()


def write(notebook: Any, path: Path) -> None:
    """Keep a notebook; one that would be too large for a repository raises ValueError."""
    import nbformat

    text = nbformat.writes(notebook, version=4)
    if len(text.encode()) > LARGEST:
        raise ValueError(
            f"{path.name} would have {len(text.encode()):,} bytes, more than {LARGEST:,}"
        )
    path.write_text(text + "\n", encoding="utf-8")
