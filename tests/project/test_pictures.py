"""Every picture that is kept stands on a page, every page's pictures are kept, and a program makes each."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
IMAGES = DOCS / "images"
# what a build of the site leaves
MADE = {DOCS / name for name in ("_build", "api", "notebooks")}
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted(DOCS.rglob("*.md")) if not MADE & set(page.parents)),
]
PICTURE = re.compile(
    r"!\[[^\]]*\]\(([^)\s]+)\)|```\{(?:image|figure)\} (\S+)|\bsrc(?:set)?=\"([^\"]+)\""
)
FIRST_LINES = [
    path.read_text("utf-8").partition("\n")[0] for path in (DOCS / "screenshots").glob("*.py")
]


def pictures_of(page):
    """The files that a page shows."""
    paths = [next(filter(None, names)) for names in PICTURE.findall(page.read_text("utf-8"))]
    return {(page.parent / path).resolve() for path in paths if not path.startswith("http")}


def test_each_way_to_show_a_picture_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        '![words](a.png)\n```{image} b.png\n:alt: c.png\n```\n<img alt="d.png"\n src="e.png">\n'
        '<source srcset="f.png">\n![words](https://example.org/g.png)\n',
        encoding="utf-8",
    )
    assert sorted(image.name for image in pictures_of(page)) == ["a.png", "b.png", "e.png", "f.png"]


def test_every_picture_stands_on_a_page_and_every_page_has_its_pictures():
    shown = set().union(*map(pictures_of, PAGES))
    assert len(shown) > 10
    assert sorted(image.name for image in IMAGES.iterdir()) == sorted(
        image.name for image in shown if image.parent == IMAGES
    )
    assert [image for image in shown if not image.is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_picture_for_light_pages_has_one_for_dark_pages(page):
    names = {image.name for image in pictures_of(page) if image.parent == IMAGES}
    light = {name.replace("light", "*") for name in names if "light" in name}
    assert light == {name.replace("dark", "*") for name in names if "dark" in name}


def test_a_program_makes_each_picture():
    kinds = {re.match("[a-z]+", image.name)[0] for image in IMAGES.iterdir()}
    for kind in kinds:
        named = [line for line in FIRST_LINES if re.search(rf"docs/images/{kind}\b", line)]
        assert len(named) == 1, kind


def test_nox_makes_all_of_them():
    pytest.importorskip("nox")
    specification = importlib.util.spec_from_file_location("noxfile", ROOT / "noxfile.py")
    noxfile = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(noxfile)
    makes = [line for line in FIRST_LINES if line.startswith('"""Makes docs/images/')]
    assert len(makes) == len(set(noxfile.SCREENSHOTS))
    for name in noxfile.SCREENSHOTS:
        assert (DOCS / "screenshots" / f"{name}.py").is_file()


def test_the_chart_shows_the_benchmarks_of_the_page():
    specification = importlib.util.spec_from_file_location(
        "speed", DOCS / "screenshots" / "speed.py"
    )
    speed = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(speed)
    page = (DOCS / "benchmarks.md").read_text("utf-8")
    assert len(speed.rows_of(page)) == len(speed.WORKLOADS)
    for theme in speed.THEMES:
        kept = (IMAGES / f"speed-{theme.name}.svg").read_text("utf-8")
        assert kept == speed.chart(page, theme), "python docs/screenshots/speed.py draws it anew"
