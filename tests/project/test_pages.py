"""The Python code on the pages, README.md and all of docs/, runs and gives what the page says.

Blocks marked ```python run in order and share their names, as a reader would type them. A block
with prompts (>>>) also has to print what stands below each prompt.
"""

import doctest
import math
import re
from pathlib import Path

import numpy as np
import pytest

import tensorframe as tfr

ROOT = Path(__file__).parents[2]
# what a build of the site leaves: its examples are those of docstrings and notebooks
MADE = {ROOT / "docs" / name for name in ("_build", "api", "notebooks")}
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not MADE & set(page.parents)),
]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks_of(text):
    """Line number and source of each Python block."""
    return [(text.count("\n", 0, match.start(1)), match[1]) for match in BLOCK.finditer(text)]


def run(source, names, page, line):
    if ">>> " not in source:
        # empty lines in front make a traceback show the page's own line numbers
        exec(compile("\n" * line + source, page, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(source, names, page, page, line)
    runner = doctest.DebugRunner(optionflags=FLAGS)
    try:
        runner.run(test, clear_globs=False)
    except doctest.DocTestFailure as failure:
        where = f"{page}:{line + failure.example.lineno + 1}"
        wanted, got = failure.example.want, failure.got
        pytest.fail(f"{where}\n{failure.example.source}gives\n{got}not\n{wanted}", pytrace=False)
    except doctest.UnexpectedException as failure:
        raise failure.exc_info[1] from None
    names.update(test.globs)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_on_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__page__", "tfr": tfr, "np": np, "math": math}
    for line, source in blocks_of(page.read_text(encoding="utf-8")):
        run(source, names, str(page), line)


def test_blocks_share_names_and_are_compared():
    names: dict[str, object] = {}
    blocks = ["x = 1\n", ">>> x + 1\n2\n>>> y = 5\n", "z = y\n"]
    page = "\n".join(f"```python\n{block}```\n" for block in blocks)
    assert [source for _, source in blocks_of(page)] == blocks
    for line, source in blocks_of(page):
        run(source, names, "page", line)
    assert names["z"] == 5


def test_a_wrong_result_fails():
    with pytest.raises(pytest.fail.Exception, match="page:4"):
        run(">>> 1 + 1\n3\n", {}, "page", 3)
