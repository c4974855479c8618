"""`python docs/overflow.py docs/_build/html [FOLDER ...]`: pages that are wider than a phone or a laptop.

Prints each with its width and theme, and fails if there is one. Needs playwright and a Chromium, as the screenshots do.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, sync_playwright

WIDTHS = (390, 1280)  # pixels: a phone, a laptop
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
HEIGHT = 900


def pages_of(site: Path, folders: Sequence[str]) -> list[Path]:
    """Return the pages of a site, or of some of its folders."""
    roots = [site / folder for folder in folders] or [site]
    return sorted({path for root in roots for path in root.rglob("*.html")})


def too_wide(page: Page, path: Path) -> Iterator[str]:
    """Yield each width and theme in which a page has to be scrolled sideways, with how wide it is."""
    page.goto(path.resolve().as_uri())
    for width, theme in product(WIDTHS, THEMES):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        page.emulate_media(color_scheme=theme)
        needed = page.evaluate("document.documentElement.scrollWidth")
        if needed > width:
            yield f"{needed} pixels at {width}, {theme}"


def main(site: str, *folders: str) -> None:
    """Look at every page in both widths and both themes."""
    paths = pages_of(Path(site), folders)
    wide = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        for path in paths:
            for finding in too_wide(page, path):
                sys.stdout.write(f"{path}: {finding}\n")
                wide += 1
        browser.close()
    sys.stdout.write(
        f"{len(paths)} pages in {len(WIDTHS)} widths and {len(THEMES)} themes, {wide} too wide\n"
    )
    if wide or not paths:
        raise SystemExit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
