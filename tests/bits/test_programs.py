"""The contract of bits: a selection of the programs that `nox -s bits` runs."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import devices, info_of
from tensorframe.dtypes import float64
from tests.bits.conditions import digests, first, violations
from tests.bits.fresh import digests_of_a_fresh_process
from tests.bits.programs import (
    FORMS,
    Program,
    programs,
    random_numbers,
    reductions,
    scans,
    sums,
)

CHOSEN = programs(thorough=False)
HERE = tfr.backends.available()
ENGINES = [name for name in ("cpu", "numpy", "llvm") if name in HERE]
DEVICES = [
    str(info.device)
    for info in devices()
    if info.capabilities.executes and not info.capabilities.host_memory
]
FEW = [list(reductions())[-6], list(scans())[1], list(random_numbers())[4]]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("device", ENGINES)
@pytest.mark.parametrize("program", CHOSEN, ids=lambda one: one.name)
def test_bits_depend_on_the_program_alone(program, device):
    assert list(violations(program, device)) == []


@pytest.mark.sweep(3)
@pytest.mark.parametrize("device", [name for name in ("opencl", "wgpu", "cuda") if name in HERE])
@pytest.mark.parametrize("program", FEW, ids=lambda one: one.name)
def test_bits_depend_on_the_program_alone_on_devices(program, device):
    assert list(violations(program, device)) == []


@pytest.mark.sweep(3)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("form", range(len(FORMS)))
def test_sums_depend_on_their_lengths_alone_on_devices(form, device):
    """Of the widest dtype there is: sums in more digits than their results have hide in what order they were added."""
    wide = float64 in info_of(tfr.Device(device)).capabilities.dtypes
    program = list(sums("float64" if wide else "float32"))[form]
    assert list(violations(program, device)) == []


@pytest.mark.parametrize("device", [name for name in ENGINES if name != "numpy"])
def test_neither_do_they_on_the_process_or_its_cache(device, tmp_path):
    """On an empty cache, where kernels are compiled, then on a full one."""
    expected = digests(CHOSEN[::4], device)
    for _ in range(2):
        how = ["--quick", "--every", "4"]
        assert digests_of_a_fresh_process(device, str(tmp_path), how) == expected


def test_what_breaks_the_contract_is_found():
    """A program that counts its runs gives other bits every time."""
    runs = []

    def run(leaves, _):
        runs.append(1)
        return [leaves["x"] + len(runs)]

    found = list(violations(Program("counts", {"x": np.ones(10, np.float32)}, run), "numpy"))
    assert {"tenth time", "16 threads", "unfused", "held"} <= {one.split(", ")[-1] for one in found}
    assert any("sliced" in one for one in found)
    assert first(FEW[0], "numpy") == first(FEW[0], "numpy")
