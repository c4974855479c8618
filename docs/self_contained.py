"""What a built site would fetch from elsewhere: `python docs/self_contained.py docs/_build/html` fails if anything."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

ELSEWHERE = re.compile(r"\s*(?:https?:)?//", re.IGNORECASE)
# links that a reader may follow, or that only name something
NAMED = {"canonical", "next", "prev", "search", "author"}
FETCHED = {"src", "srcset", "poster", "data"}
STYLES = re.compile(r"(?:@import\s+|url\(\s*)[\"']?\s*((?:https?:)?//[^\"')\s]+)", re.IGNORECASE)
# what scripts of Sphinx, themes and notebooks load by themselves
LOADED = re.compile(
    r"https?://(?:[\w-]+\.)*(?:jsdelivr\.net|cloudflare\.com|unpkg\.com|googleapis\.com)[^\s\"']*"
)


class Page(HTMLParser):
    """The addresses that a browser fetches as it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the addresses of an element."""
        facts = {name: value or "" for name, value in attrs}
        self.fetched += [value for name, value in facts.items() if name in FETCHED]
        if tag == "link" and facts.get("rel", "") not in NAMED:
            self.fetched.append(facts.get("href", ""))
        self.fetched += STYLES.findall(facts.get("style", ""))


def foreign(folder: Path) -> Iterator[str]:
    """Yield a line for each address elsewhere that a file of a site fetches."""
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".html", ".css", ".js"):
            continue
        text = path.read_text(encoding="utf-8")
        addresses = STYLES.findall(text) if path.suffix == ".css" else LOADED.findall(text)
        if path.suffix == ".html":
            page = Page()
            page.feed(text)
            addresses += [address for address in page.fetched if ELSEWHERE.match(address)]
        yield from (
            f"{path.relative_to(folder)}: {address}" for address in dict.fromkeys(addresses)
        )


if __name__ == "__main__":
    sys.exit("\n".join(foreign(Path(sys.argv[1]))) or None)
