"""Execution: a notebook run from its first cell to its last in a kernel of its own."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

FOLDER = Path(__file__).parent
CHECKOUT = FOLDER.parents[1]
SECONDS = 300  # for a cell, on a machine that is busy


def paths() -> list[Path]:
    """The notebooks of this folder, by name."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Any:
    """The notebook in a file."""
    import nbformat

    return nbformat.read(path, as_version=4)


def execute(path: Path) -> Any:
    """The notebook in a file with the outputs of a fresh run, up to the first cell that raises: CellExecutionError."""
    import nbclient

    notebook = read(path)
    client = nbclient.NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.extra_arguments = [
        "--IPKernelApp.log_level=ERROR"
    ]  # it warns of its connection to this process
    with TemporaryDirectory() as folder:
        client.execute(env=environment(folder))
    return notebook


def environment(folder: str) -> dict[str, str]:
    """What the kernel finds: this checkout's modules, and nothing that depends on the user, the shell or on waiting."""
    modules = os.pathsep.join(filter(None, [str(CHECKOUT), os.environ.get("PYTHONPATH")]))
    return {
        "XDG_RUNTIME_DIR": folder,  # drivers complain on the error stream without one
        **{name: value for name, value in os.environ.items() if is_kept(name)},
        "PYTHONPATH": modules,
        "IPYTHONDIR": folder,  # a profile may run what it likes at the start
        "NO_COLOR": "1",
        "TENSORFRAME_PROGRESS": "off",  # who waits depends on the machine
    }


def is_kept(name: str) -> bool:
    """Whether an environment variable says nothing about what a notebook shows."""
    is_option = name.startswith("TENSORFRAME_") and name != "TENSORFRAME_CACHE_DIR"
    return not is_option and name not in {"MPLBACKEND", "FORCE_COLOR"}
