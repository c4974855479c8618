"""What holds for all tests."""

import gc
import getpass
import os
import signal
import tempfile
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

import tensorframe as tfr
import tensorframe.ops.special
from tests.builds import forget_kernels
from tests.drivers import compile_quickly

# Kernels are compiled once for all tests, workers and processes that tests start, and kept for the next run; the user's
# own are left alone.
KERNELS = Path(tempfile.gettempdir(), f"tensorframe-tests-{getpass.getuser()}")
os.environ.setdefault("TENSORFRAME_CACHE_DIR", str(KERNELS))

compile_quickly()

# What a shell starts in the background ignores interrupts, and tests send some.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Processes that tests start would compile every module anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# What breaks in a process that a test starts shows all its frames.
os.environ.setdefault("TENSORFRAME_TRACEBACKS", "full")

# every node is checked after every pass, in every test
tfr.config.configure(
    verify=True,
    cache_dir=os.environ["TENSORFRAME_CACHE_DIR"],
    tracebacks=os.environ["TENSORFRAME_TRACEBACKS"],
)

# The same examples in every run, however long they take: what fails, fails again, and only a change makes it.
# `pytest --hypothesis-profile=explore` looks for others, with `--hypothesis-seed=N` for those of a run.
WITHOUT_TIMES = settings(
    deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", WITHOUT_TIMES)
settings.register_profile("always the same", WITHOUT_TIMES, derandomize=True)
settings.load_profile("always the same")


# nothing that is collected is garbage, and looking for some takes a quarter of that time
gc.disable()


def pytest_collection_finish() -> None:
    """Leave all that was collected to the end: tests that look for garbage would look through 30,000 tests for it."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave most cases of sweeps to a session of their own, and all of those without a number.

    Each case's name tells whether it stays.
    """
    named = config.option.keyword or any("::" in argument for argument in config.args)
    if named or os.environ.get("SWEEPS") == "all":
        return
    left = {item for item in items if not _is_sampled(item)}
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


def _is_sampled(item: pytest.Item) -> bool:
    """Whether a case of a sweep is among those that are run every time."""
    marks = [mark.args for mark in item.iter_markers("sweep")]
    return all(cases and crc32(item.nodeid.encode()) % cases[0] == 0 for cases in marks)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave programs beside the tests alone: looking for docstrings' examples would import, and so run, them."""
    is_program = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if is_program else None


@pytest.fixture(autouse=True, scope="module")
def _older_objects_are_left_alone():
    """Have the garbage collector look through what a module makes: not, each time, through what all before it left."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _kernels_are_built_again():
    """Have each test build its kernels itself: some change how that is done."""
    yield
    forget_kernels()
