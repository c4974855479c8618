"""JupyterLab without a window: cells run in a notebook of its own, seen in a real browser, in either theme.

    with lab(["import tensorframe as tfr", "tfr.arange(1000)"], theme="dark") as page:
        outputs(page, 1).screenshot(path="card.png")

The extra `screenshots` brings what this needs, besides a Chromium: one that is installed, or playwright's own. `nox -s
screenshots` makes all pictures; a program beside this one makes those that its first line names.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Locator, Page, sync_playwright

Theme = Literal["light", "dark"]

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
NOTEBOOK = "notebook.ipynb"
SETTINGS: dict[str, dict[str, object]] = {
    "@jupyterlab/apputils-extension/themes": {"theme": "", "adaptive-theme": False},
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    # every cell is in the page, not only those that are scrolled to
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}

_CONNECTED = """async () => {
    const session = window.jupyterapp.shell.currentWidget.sessionContext;
    await session.ready;
    await session.session.kernel.info;
}"""
_RUN_ALL = "async () => { await window.jupyterapp.commands.execute('notebook:run-all-cells'); }"
# the cell that ran last is no more than the others
_UNSELECTED = """
.jp-Notebook .jp-Cell { border-color: transparent !important; box-shadow: none !important; }
.jp-Collapser, .jp-cell-toolbar, .jp-Notebook-footer { visibility: hidden !important; }
.jp-InputPrompt, .jp-OutputPrompt {
    color: var(--jp-cell-prompt-not-active-font-color) !important;
    opacity: var(--jp-cell-prompt-not-active-opacity) !important;
}
"""


@contextmanager
def lab(
    cells: Sequence[str],
    *,
    theme: Theme = "light",
    width: int = 900,
    height: int = 1400,
    scale: float = 2.0,
    wait: bool = True,
    seconds: float = 120.0,
) -> Iterator[Page]:
    """Give the page of a notebook whose cells were all run; `wait=False` gives it while they run.

    `cells` are Python, one string a cell. The page is `width` by `height` CSS pixels, `scale` device pixels each.
    What is not there after `seconds` raises playwright's TimeoutError.
    """
    with TemporaryDirectory() as folder:
        Path(folder, NOTEBOOK).write_text(json.dumps(notebook(cells)), encoding="utf-8")
        with _server(Path(folder), theme, seconds) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(
                viewport={"width": width, "height": height}, device_scale_factor=scale
            )
            page.set_default_timeout(seconds * 1e3)
            page.goto(f"{address}/doc/tree/{NOTEBOOK}")
            _run_all(page, len(cells), wait=wait)
            yield page
            browser.close()


def outputs(page: Page, cell: int) -> Locator:
    """Return what a cell gave, by the place of the cell in the notebook: to screenshot, to ask for text."""
    return page.locator(".jp-Cell").nth(cell).locator(".jp-OutputArea-child .jp-OutputArea-output")


def cell(page: Page, number: int) -> Locator:
    """Return a cell with its code and what it gave."""
    return page.locator(".jp-Cell").nth(number)


def screenshot(page: Page, path: Path, first: int = 0, last: int | None = None) -> None:
    """Write a picture of the cells from `first` to `last` (None: to the end), cut to what they fill."""
    shown = page.locator(".jp-Notebook .jp-Cell")
    top = shown.nth(first).bounding_box()
    bottom = shown.nth(shown.count() - 1 if last is None else last).bounding_box()
    if top is None or bottom is None:
        raise LookupError(f"cells {first} to {last} are not on the page")
    path.parent.mkdir(exist_ok=True)
    clip = {
        "x": top["x"],
        "y": top["y"],
        "width": top["width"],
        "height": bottom["y"] + bottom["height"] - top["y"],
    }
    page.screenshot(path=path, clip=clip)  # type: ignore[arg-type]


def notebook(cells: Sequence[str]) -> dict[str, object]:
    """Return a notebook of code cells that did not run yet, as its file holds it."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "cells": [
            {
                "cell_type": "code",
                "id": f"cell-{number}",
                "source": source,
                "metadata": {},
                "outputs": [],
                "execution_count": None,
            }
            for number, source in enumerate(cells)
        ],
    }


@contextmanager
def _server(folder: Path, theme: Theme, seconds: float) -> Iterator[str]:
    """Start JupyterLab on a folder, with settings of its own, and stop it afterwards."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    environment = {
        **os.environ,
        "JUPYTERLAB_SETTINGS_DIR": str(_settings(folder / ".settings", theme)),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / ".workspaces"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    options = [
        f"--ServerApp.root_dir={folder}",
        f"--ServerApp.port={port}",
        "--IdentityProvider.token=",
        "--LabApp.expose_app_in_browser=True",
        "--no-browser",
        "--allow-root",
    ]
    # nobody reads what the server logs, and a full pipe would stop it
    server = subprocess.Popen(  # noqa: S603 - our own options
        [sys.executable, "-m", "jupyterlab", *options],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(f"{address}/api", server, seconds)
        yield address
    finally:
        server.terminate()  # and with it the kernels
        server.wait()


def _settings(folder: Path, theme: Theme) -> Path:
    for name, values in SETTINGS.items():
        path = folder / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        chosen = {"theme": f"JupyterLab {theme.capitalize()}"} if "theme" in values else {}
        path.write_text(json.dumps({**values, **chosen}), encoding="utf-8")
    return folder


def free_port() -> int:
    """Return the number of a port that nobody listens on."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
        return port


def wait_for(address: str, server: subprocess.Popen[bytes], seconds: float) -> None:
    """Return when a server that was started answers; raise TimeoutError if it ends, or does not for so long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and server.poll() is None:
        try:
            with urlopen(address):  # noqa: S310 - our own server
                return
        except URLError:
            time.sleep(0.2)
    raise TimeoutError(f"nothing answers at {address}")


def _run_all(page: Page, cells: int, *, wait: bool) -> None:
    """Run the notebook's cells as its menu does."""
    page.locator(".jp-Notebook .jp-Cell").nth(cells - 1).wait_for()
    page.evaluate(_CONNECTED)
    page.evaluate(_RUN_ALL if wait else _RUN_ALL.replace("await ", ""))
    page.add_style_tag(content=_UNSELECTED)
    if wait:
        page.wait_for_timeout(300)  # the page draws what arrived last
