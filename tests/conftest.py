"""What holds for all tests."""

import getpass
import os
import tempfile
from pathlib import Path

import tensorframe as tfr

# Kernels are compiled once for all tests, workers and processes that tests start, and kept for the next run; the user's
# own are left alone.
KERNELS = Path(tempfile.gettempdir(), f"tensorframe-tests-{getpass.getuser()}")
os.environ.setdefault("TENSORFRAME_CACHE_DIR", str(KERNELS))

# every node is checked after every pass, in every test
tfr.config.configure(verify=True, cache_dir=os.environ["TENSORFRAME_CACHE_DIR"])


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave programs beside the tests alone: looking for docstrings' examples would import, and so run, them."""
    is_program = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if is_program else None
