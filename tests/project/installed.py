"""`python -m tests.project.installed WHEEL`: the wheel in an empty environment, where the README's code has to run.

There the example of a backend, as a wheel of its own, has to keep the interface's promises too.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]


def main(wheel: str) -> None:
    """Install a wheel, run the code of the README that needs nothing else, and compare what it shows with the page."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    (code, shown), *_ = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", page, re.DOTALL)
    with TemporaryDirectory() as folder:
        home = Path(folder)
        venv.create(home / "venv", with_pip=True)
        python = home / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        install = [python, "-m", "pip", "install", "--quiet", str(Path(wheel).resolve())]
        subprocess.run(install, check=True, cwd=home)
        done = subprocess.run(
            [python, "-I", "-c", code], check=True, cwd=home, capture_output=True, text=True
        )
        if _without_peak(done.stdout) != _without_peak(shown):
            raise SystemExit(f"the README shows\n{shown}\nthe wheel\n{done.stdout}")
        subprocess.run([python, "-I", "-m", "tensorframe"], check=True, cwd=home)
        _prove_plug_in(python, home)


def _prove_plug_in(python: Path, home: Path) -> None:
    """Build the wheel of the example of a backend, install it beside the package, and run its proof."""
    pip = [str(python), "-m", "pip", "--quiet"]
    copy, made = home / "plugin", home / "made"
    shutil.copytree(ROOT / "examples" / "backend_plugin", copy)
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--wheel-dir", str(made), str(copy)], check=True, cwd=home
    )
    (wheel,) = made.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", str(wheel)], check=True, cwd=home)
    subprocess.run([python, "-I", "-m", "tensorframe_abacus"], check=True, cwd=home)


def _without_peak(text: str) -> str:
    """Return what is shown without the peak: what kernels take for themselves depends on the number of cores."""
    return re.sub("peak .* MiB", "peak", text)


if __name__ == "__main__":
    main(*sys.argv[1:])
