"""Makes docs/images/overview-light.png and overview-dark.png: a tensor and its plan in JupyterLab."""

from __future__ import annotations

from jupyter import IMAGES, Theme, lab, screenshot

CELLS = [
    """\
import tensorframe as tfr
from sklearn.datasets import load_sample_image

photo = tfr.asarray(load_sample_image("china.jpg")) / 255
grey = tfr.mean(photo, axis=-1, keepdims=True)
vivid = tfr.clip(grey + 1.6 * (photo - grey), 0, 1) ** 0.8
vivid""",
    "vivid.explain()",
]
THEMES: tuple[Theme, ...] = ("light", "dark")


def main() -> None:
    """Write both pictures."""
    for theme in THEMES:
        with lab(CELLS, theme=theme, width=950, height=1000) as page:
            screenshot(page, IMAGES / f"overview-{theme}.png")


if __name__ == "__main__":
    main()
