"""Pieces that stand on one page leave each other's looks alone: their rules are not scoped to one piece."""

import re
from collections import defaultdict
from pathlib import Path

import tensorframe as tfr

FOLDER = Path(tfr.__file__).parent / "notebook"
RULE = re.compile(r"(?:\.tensorframe)+ (\.[a-z-]+)[^{}\n]*\{")


def test_no_class_has_rules_in_two_modules():
    homes = defaultdict(set)
    for path in FOLDER.rglob("*.py"):
        for name in RULE.findall(path.read_text(encoding="utf-8")):
            homes[name].add(path.name)
    assert len(homes) > 15
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}
