"""The site fetches nothing from elsewhere, and its formulas are elements of its pages."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def loaded(name: str) -> Any:
    """Return a module of docs, which is no package."""
    path = ROOT / "docs" / f"{name}.py"
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


broken = loaded("links").broken
foreign, mathml = loaded("self_contained").foreign, loaded("formulas").mathml
NOTEBOOKS = ("options", "heat")  # with formulas, cards and pictures
PAGE = r"""# A page

Of $\alpha_i$, and

$$\Phi(x) = \frac{1}{2}$$

```{toctree}
options
heat
```
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of a few pages, built as the whole one is."""
    pages, built = tmp_path_factory.mktemp("pages"), tmp_path_factory.mktemp("site")
    (pages / "index.md").write_text(PAGE, encoding="utf-8")
    for name in NOTEBOOKS:
        shutil.copy(ROOT / "examples" / "notebooks" / f"{name}.ipynb", pages)
    command = [sys.executable, "-m", "sphinx", "--quiet", "--conf-dir", str(ROOT / "docs")]
    done = subprocess.run(
        [*command, str(pages), str(built)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return built


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > len(NOTEBOOKS)
    assert list(foreign(site)) == []


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    links = [
        "other.html#here",
        "folder/",
        "#top",
        "https://elsewhere.org/x",
        "other.html#gone",
        "none.html",
    ]
    text = "".join(f'<a href="{link}">' for link in links)
    (tmp_path / "index.html").write_text(f'<h1 id="top">{text}', encoding="utf-8")
    (tmp_path / "other.html").write_text('<h2 id="here">', encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "index.html").write_text("", encoding="utf-8")
    assert list(broken(tmp_path)) == ["index.html: other.html#gone", "index.html: none.html"]


def test_every_formula_is_an_element(site: Path) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    assert re.findall('<math [^>]*display="(.*?)"', index) == ["inline", "block"]
    for name in NOTEBOOKS:
        page = (site / f"{name}.html").read_text(encoding="utf-8")
        assert 'display="block"' in page
        article = page[page.index("<article") : page.index("</article>")]
        assert not re.search(r"\\\(|\\\[|\\frac|\$\$", article)


def test_capital_greek_letters_are_upright() -> None:
    assert '<mi mathvariant="normal">&#x003A6;</mi>' in mathml(r"\Phi", "inline")
    assert "mathvariant" not in mathml(r"\phi + K", "inline")


@pytest.mark.parametrize(
    ("name", "text", "fetched"),
    [
        ("a.html", '<script src="https://x.org/a.js"></script>', "https://x.org/a.js"),
        ("a.html", '<link rel="stylesheet" href="//x.org/a.css">', "//x.org/a.css"),
        ("a.html", "<img src='http://x.org/a.png'>", "http://x.org/a.png"),
        ("a.html", '<p style="background:url(https://x.org/b.png)">', "https://x.org/b.png"),
        ("a.css", '@import "https://x.org/c.css";', "https://x.org/c.css"),
        ("a.css", "p{src:url('//x.org/d.woff')}", "//x.org/d.woff"),
        ("a.js", 'import("https://cdn.jsdelivr.net/npm/x")', "https://cdn.jsdelivr.net/npm/x"),
        ("a.html", '<a href="https://x.org">x</a><img src="b.png"/>', None),
        ("a.html", '<link rel="canonical" href="https://x.org/">', None),
        (
            "a.html",
            "<img src=\"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'%3E\"/>",
            None,
        ),
    ],
)
def test_what_a_page_fetches_is_found(
    tmp_path: Path, name: str, text: str, fetched: str | None
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert list(foreign(tmp_path)) == ([f"{name}: {fetched}"] if fetched else [])
