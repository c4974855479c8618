"""Makes docs/images/progress-light.png and progress-dark.png: a compute under way in JupyterLab."""

from __future__ import annotations

from jupyter import IMAGES, Theme, lab, outputs, screenshot
from playwright.sync_api import Page

CELLS = [
    """\
import numpy as np
import tensorframe as tfr

x = tfr.asarray(np.random.default_rng(0).random((1500, 1500), dtype=np.float32))
y = x
for _ in range(200):
    y = tfr.sin(y @ x / 1500)""",
    """\
y.compute()""",
]


THEMES: tuple[Theme, ...] = ("light", "dark")


def main() -> None:
    """Write both pictures, when the bar shows about a third."""
    for theme in THEMES:
        with lab(CELLS, theme=theme, wait=False) as page:
            _wait_for_share(page, 30)
            screenshot(page, IMAGES / f"progress-{theme}.png")


def _wait_for_share(page: Page, percent: int) -> None:
    bar = outputs(page, 1).locator(".track i")
    bar.wait_for()
    page.wait_for_function(
        "percent => parseFloat(document.querySelector('.track i').style.width) > percent",
        arg=percent,
    )


if __name__ == "__main__":
    main()
