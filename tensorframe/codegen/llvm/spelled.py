"""Text with words in it that a processor or a dtype spells."""

from __future__ import annotations


def spelled(text: str, words: dict[str, str]) -> str:
    """Return a text with its words spelled."""
    for word, spelling in words.items():
        text = text.replace(f"`{word}`", spelling)
    return text
