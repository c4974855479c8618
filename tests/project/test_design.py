"""Pages name what is there: modules, folders, passes, functions, sessions, reasons for not fusing."""

import re
from pathlib import Path
from typing import get_args

import pytest

from tensorframe.kernel import ir
from tensorframe.kernel.ir import language, statements
from tensorframe.schedule.pipeline import PASS_NAMES
from tests.project.words import PAGES

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tensorframe"
DESIGN = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
NOTEBOOK = (ROOT / "docs" / "notebook.md").read_text(encoding="utf-8")
PATHS = [
    f"/{path.relative_to(ROOT).as_posix()}{'/' if path.is_dir() else ''}"
    for name in ("tensorframe", "tests", "docs", "examples")
    for path in (ROOT / name).rglob("*")
]
# the changelog names what there was
PRESENT = [page for page in PAGES if page.name != "changelog.md"]
# what pages name by a path: from the root on, from the package on, or the end of one
NAMED = re.compile(r"`((?:[\w-]+/)*(?:[\w-]+/|[\w-]+\.py))`")
# what a reader of these pages has, or gets
OTHERS = {"docs/backends.md": {"my_backend.py"}}


@pytest.mark.parametrize("page", PRESENT, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_modules_and_folders_that_a_page_names_exist(page):
    named = set(NAMED.findall(page.read_text(encoding="utf-8")))
    missing = {name for name in named if not any(path.endswith(f"/{name}") for path in PATHS)}
    assert missing - OTHERS.get(page.relative_to(ROOT).as_posix(), set()) == set()


def test_every_part_of_the_package_is_in_the_table_of_folders():
    (table,) = re.findall(r"^\| folder \|.*?\n\n", DESIGN, re.MULTILINE | re.DOTALL)
    told = {
        name.strip("/`")
        for row in table.splitlines()
        for name in row.partition("| ")[2].partition(" |")[0].split()
    }
    parts = {
        path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()
    }
    parts |= {path.name for path in PACKAGE.glob("*.py")}
    assert parts - told == {"__init__.py", "__main__.py", "conftest.py"}


@pytest.mark.parametrize("text", [DESIGN, NOTEBOOK], ids=["design", "notebook"])
def test_every_pass_is_told_in_its_order(text):
    places = [text.find(f"`{name}`") for name in PASS_NAMES]
    assert min(places) >= 0
    assert places == sorted(places)


def test_what_it_says_is_in_a_module_is_there():
    """As in `schedule/place.py: choose_device`, or `as_nodes` in `frontend/operand_nodes.py`."""
    said = re.findall(r"`([\w/]+\.py): (\w+)`", DESIGN)
    said += [(m, n) for n, m in re.findall(r"\(`(\w+)`\s+in\s+`([\w/]+\.py)`\)", DESIGN)]
    assert len(said) >= 4
    for module, name in said:
        homes = [path for path in PATHS if path.endswith(f"/{module}")]
        sources = [(ROOT / home[1:]).read_text(encoding="utf-8") for home in homes]
        assert any(re.search(rf"\b{name}\b", source) for source in sources), (module, name)


def test_every_session_is_on_the_page_of_contributing():
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    sessions = re.findall(r"^@nox\.session.*\ndef (\w+)\(", noxfile, re.MULTILINE)
    assert len(sessions) > 20
    assert [name for name in sessions if f"`{name}`" not in page] == []


def test_reasons_for_not_fusing_are_those_that_plans_give():
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| message \|.*?\n\n", page, re.MULTILINE | re.DOTALL)
    messages = re.findall(r"^\| `(.*?)` \|", table, re.MULTILINE)
    assert len(messages) > 10
    folders = (PACKAGE / "schedule", PACKAGE / "kernel" / "spaces")
    text = "".join(
        path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py")
    )
    for message in messages:
        assert re.search(r"[^\n]*".join(map(re.escape, message.split("..."))), text), message


def test_kinds_of_the_kernel_language_are_all_named_and_counted():
    named = language.__doc__ or ""
    kinds = [kind.__name__ for kind in get_args(statements.Statement)]
    assert {f"`{name}`" for name in kinds} <= set(re.findall(r"`\w+`", named))
    expressions = [kind.__name__ for kind in ir.Expr.__subclasses__()]
    assert (
        len(re.findall(r"`[A-Z]\w+`", named)) == len(kinds) + len(expressions) + 1
    )  # and `Kernel`
    assert (len(expressions), len(kinds)) == (6, 13)
    assert "Six kinds" in named
    assert "thirteen" in named
    assert "Nineteen kinds of" in DESIGN
