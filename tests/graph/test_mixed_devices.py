"""Random programs give NumPy's results with leaves on several devices, some of which do not do everything."""

from collections.abc import Iterator

import pytest

import tensorframe as tfr
from tensorframe import dtypes
from tensorframe.backends.registry import unregister
from tensorframe.graph.op import Kind
from tensorframe.testing.boxed import BoxedBackend
from tensorframe.testing.random_graph import check

LACKING = frozenset({dtypes.float64, dtypes.complex128, dtypes.int16, dtypes.uint16})


@pytest.fixture(autouse=True)
def devices() -> Iterator[None]:
    """Two devices in boxes: one does everything, the other one lacks some dtypes and runs simple ops only."""
    able = BoxedBackend("able", neighbours=("meagre",))
    meagre = BoxedBackend(
        "meagre",
        dtypes=dtypes.ANY - LACKING,
        refuses=lambda op, _: op.kind in (Kind.LIBRARY, Kind.CONTRACT, Kind.SCAN, Kind.GATHER),
    )
    for backend in (able, meagre):
        tfr.backends.register(backend)
    yield
    for backend in (able, meagre):
        unregister(backend.name)


@pytest.mark.parametrize("start", range(40_000, 40_200, 50))
def test_programs_on_four_devices_agree_with_numpy(start: int) -> None:
    for seed in range(start, start + 50):
        check(seed, devices=("cpu", "able", "llvm", "meagre"))


@pytest.mark.parametrize("start", range(41_000, 41_100, 50))
def test_programs_on_one_device_in_boxes_agree_with_numpy(start: int) -> None:
    for seed in range(start, start + 50):
        check(seed, device="able")
        check(seed, devices=("meagre",))


def test_programs_run_op_by_op_and_unsimplified_agree_with_numpy() -> None:
    for seed in range(42_000, 42_050):
        check(seed, devices=("able", "meagre", "cpu"), fuse=False)
        check(seed, devices=("able", "meagre", "cpu"), rewrite=False)


def test_long_programs_agree_with_numpy() -> None:
    for seed in range(43_000, 43_020):
        check(seed, moves=40, devices=("able", "meagre", "numpy"))
