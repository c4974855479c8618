"""Every error and warning has a page that shows it, every page its class, and every message the page's address."""

import inspect
import re
from pathlib import Path

import pytest

from tensorframe import errors

FOLDER = Path(__file__).parents[2] / "docs" / "errors"
KINDS = [getattr(errors, name) for name in errors.__all__]


def pages():
    return {path.stem for path in FOLDER.glob("*.md")} - {"index"}


def test_every_class_is_public():
    written = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if kind.__module__ == errors.__name__ and issubclass(kind, Exception | Warning)
    ]
    assert set(written) == set(KINDS)


def test_every_class_has_its_page_and_every_page_its_class():
    assert pages() == {errors.page_name(name) for name in errors.__all__}


@pytest.mark.parametrize("kind", KINDS, ids=errors.__all__)
def test_a_page_shows_the_message_that_leads_to_it(kind):
    page = (FOLDER / f"{errors.page_name(kind.__name__)}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {kind.__name__}\n")
    assert ">>> " in page
    assert "## What to do" in page
    if kind not in (errors.TensorFrameError, errors.TensorFrameWarning):
        assert f"  more: {errors.page_of(kind)}\n" in page


@pytest.mark.parametrize("kind", KINDS, ids=errors.__all__)
def test_the_last_line_of_a_message_is_the_address_of_its_page(kind):
    *_, last = str(kind("what was asked")).splitlines()
    (name,) = re.findall(
        rf"^  more: {re.escape(errors.DOCUMENTATION)}/errors/([\w-]+)\.html$", last
    )
    assert name in pages()


def test_kinds_of_others_lead_to_the_page_of_the_nearest_of_ours():
    class OfAPlugIn(errors.KernelError):
        pass

    assert errors.page_of(OfAPlugIn) == errors.page_of(errors.KernelError)


def test_the_index_leads_to_every_page():
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(([\w-]+)\.md\)", index)) == pages()


def test_the_pages_are_where_the_site_is_built():
    site = FOLDER.parent / "conf.py"
    assert f'html_baseurl = "{errors.DOCUMENTATION}/"' in site.read_text(encoding="utf-8")
