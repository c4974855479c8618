"""What holds for all tests."""

from pathlib import Path

import tensorframe as tfr

# every node is checked after every pass, in every test
tfr.config.configure(verify=True)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave programs beside the tests alone: looking for docstrings' examples would import, and so run, them."""
    is_program = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if is_program else None
