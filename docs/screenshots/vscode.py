"""Makes docs/images/vscode-light.png and vscode-dark.png: what a notebook shows in VS Code, in its own renderers.

Needs code-server, which is VS Code in a browser: `npm install --global code-server`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from jupyter import IMAGES, NOTEBOOK, Theme, free_port, notebook, wait_for
from nbclient import NotebookClient
from playwright.sync_api import Page, sync_playwright

CELLS = [
    """\
import tensorframe as tfr

x = tfr.linspace(0, 12, 600, dtype=tfr.float32)
waves = tfr.sin(x)[:, None] * tfr.cos(0.7 * x)
waves""",
    """\
likely = tfr.softmax(waves, axis=1).to_backend("opencl")
tfr.max(likely, axis=0).visualize(stage="plan")""",
    """\
with tfr.profile() as profile:
    for _ in range(5):
        tfr.sum(tfr.exp(-waves * waves), axis=1).compute()
profile""",
    "waves + tfr.ones((3, 4))",
]
SETTINGS = {
    "chat.disableAIFeatures": True,
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "window.autoDetectColorScheme": True,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
}
THEMES: tuple[Theme, ...] = ("light", "dark")
SIZE = {"width": 1120, "height": 1500}
SECONDS = 300.0


def main() -> None:
    """Write both pictures."""
    with TemporaryDirectory() as name:
        folder = Path(name, "work")
        folder.mkdir()
        _run(folder / NOTEBOOK)
        with _server(folder, Path(name, "settings")) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            for theme in THEMES:
                page = browser.new_page(
                    viewport=SIZE,  # type: ignore[arg-type]
                    color_scheme=theme,
                    device_scale_factor=1.5,
                )
                page.set_default_timeout(SECONDS * 1e3)
                page.goto(f"{address}/?folder={folder}")
                _open(page)
                page.screenshot(path=IMAGES / f"vscode-{theme}.png")
                page.close()
            browser.close()


def _run(path: Path) -> None:
    """Write a notebook with its outputs: VS Code shows these without asking for a kernel."""
    book = nbformat.from_dict(notebook(CELLS))
    NotebookClient(book, allow_errors=True).execute()
    nbformat.write(book, path)


def _open(page: Page) -> None:
    """Open the notebook from the list of files, where VS Code has learnt what notebooks are."""
    file = page.get_by_role("treeitem", name=NOTEBOOK)
    file.wait_for()
    page.wait_for_timeout(15_000)  # its extensions start
    file.dblclick()
    page.get_by_text("Select Kernel").wait_for()
    page.keyboard.press("Control+B")  # without the list of files
    page.mouse.move(0, 0)
    page.wait_for_timeout(15_000)  # the renderers start


@contextmanager
def _server(folder: Path, settings: Path) -> Iterator[str]:
    program = shutil.which("code-server")
    if program is None:
        raise LookupError("no code-server: npm install --global code-server")
    (settings / "User").mkdir(parents=True)
    (settings / "User" / "settings.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    port = free_port()
    options = ["--auth=none", f"--bind-addr=127.0.0.1:{port}", f"--user-data-dir={settings}"]
    server = subprocess.Popen(  # noqa: S603 - our own options
        [program, *options, str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(f"{address}/healthz", server, SECONDS)
        yield address
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
