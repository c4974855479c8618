"""Makes docs/images/card-light.png and card-dark.png: cards of tensors in JupyterLab."""

from __future__ import annotations

from jupyter import IMAGES, Theme, lab, screenshot

CELLS = [
    """\
import numpy as np
import tensorframe as tfr
from sklearn.datasets import load_sample_image""",
    """\
t = tfr.linspace(0, 40, 1_000_000_000)
tfr.exp(-t / 12) * tfr.sin(t)""",
    """\
y, x = tfr.linspace(-3, 3, 25_000)[:, None], tfr.linspace(-4.8, 4.8, 40_000)
tfr.sin(x * x + y * y) / (1 + x * x + y * y)""",
    """\
photograph = tfr.asarray(load_sample_image("china.jpg"))
photograph""",
    """\
measured = np.random.default_rng(7).normal(size=40_000).cumsum()
measured[21_000:22_500] = np.nan
tfr.asarray(measured)""",
    """\
rows = tfr.asarray([3, 427])
photograph[rows + 1]""",
]
THEMES: tuple[Theme, ...] = ("light", "dark")


def main() -> None:
    """Write both pictures."""
    for theme in THEMES:
        with lab(CELLS, theme=theme, width=900, height=2300) as page:
            screenshot(page, IMAGES / f"card-{theme}.png")


if __name__ == "__main__":
    main()
