"""The site: Sphinx with pages in Markdown. `nox -s site` builds it into docs/_build/html."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import reference  # noqa: E402 - found through the line above

import tensorframe  # noqa: E402

project = "tensorframe"
author = "The tensorframe authors"
copyright = "The tensorframe authors, MIT licence"
release = version = tensorframe.__version__

extensions = ["myst_nb", "formulas", "navigation", "sphinx_copybutton", "sphinx_design"]
exclude_patterns = ["_build", "derive", "screenshots", "**.ipynb_checkpoints"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
nb_execution_mode = (
    "off"  # notebooks are shown with the outputs that are kept, and that the tests compare
)
nb_merge_streams = True

toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"tensorframe {release}"
html_baseurl = "https://tensorframe-lazy.readthedocs.io/en/latest/"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
highlight_language = "none"  # blocks without a language are plans, messages and drawings
pygments_style = "friendly"
pygments_dark_style = "github-dark"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"


def copy_notebooks(source: Path, target: Path) -> None:
    """Bring the notebooks to where Sphinx looks for pages."""
    target.mkdir(exist_ok=True)
    kept = {path.name: path for path in source.glob("*.ipynb")}
    for name, path in kept.items():
        shutil.copy2(path, target / name)
    for path in target.glob("*.ipynb"):
        if path.name not in kept:
            path.unlink()


# before Sphinx lists the pages
copy_notebooks(HERE.parent / "examples" / "notebooks", HERE / "notebooks")
reference.write(HERE / "api")
