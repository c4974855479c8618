"""Links of a built site that lead nowhere: `python docs/links.py docs/_build/html` fails if there is one."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LINKS = re.compile(r'\b(?:href|src)="([^"]+)"')
_ANCHORS = re.compile(r'\b(?:id|name)="([^"]+)"')


def broken(folder: Path) -> Iterator[str]:
    """Yield a line for each link inside the site whose page, file or heading is not there."""
    for page in sorted(folder.rglob("*.html")):
        links = dict.fromkeys(_LINKS.findall(page.read_text(encoding="utf-8")))
        for link in map(unescape, links):
            if not _leads_somewhere(page, link):
                yield f"{page.relative_to(folder)}: {link}"


def _leads_somewhere(page: Path, link: str) -> bool:
    """Whether a link of a page leads out of the site, or to what is there."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = page.parent / unquote(parts.path) if parts.path else page
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return False
    has_headings = parts.fragment and target.suffix == ".html"
    return not has_headings or unquote(parts.fragment) in _anchors(target.resolve())


@cache
def _anchors(page: Path) -> frozenset[str]:
    return frozenset(map(unescape, _ANCHORS.findall(page.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    sys.exit("\n".join(broken(Path(sys.argv[1]))) or None)
