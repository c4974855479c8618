"""Checks of the interface: what each method of a backend promises, asked of it directly."""

from __future__ import annotations

import numpy as np

from tensorframe.backends.base import Backend, Capabilities, DeviceInfo
from tensorframe.backends.storage import Storage
from tensorframe.dtypes import ANY, bool_
from tensorframe.graph.op import Kind, find, rows
from tensorframe.graph.region import Region, RegionOp
from tensorframe.testing.conformance.subject import Check, Subject, expect, same_bits, small_numbers

IMPOSSIBLE = 1 << 60  # bytes: no device has them


def checks(subject: Subject) -> list[Check]:
    """Return the checks of the interface."""
    promises = {
        "it is a Backend with a name": _is_backend,
        "its devices are told the same twice": _probe,
        "capabilities are data of the right kinds": _capabilities,
        "memory is allocated and freed": _allocate,
        "less memory than none is refused, and the device works on": _refuse_less_than_none,
        "too much memory is refused with MemoryError, and the device works on": _refuse,
        "a program gives the region's values, each time it is called": _compile,
        "a program gives several values": _outputs,
        "supports answers for every row, within the device's dtypes": _supports,
        "source is text, and synchronize returns": _rest,
    }
    return [
        subject.check("the interface", promise, lambda run=run: run(subject))  # type: ignore[misc]
        for promise, run in promises.items()
    ]


def _is_backend(subject: Subject) -> None:
    expect(isinstance(subject.backend, Backend), "it does not derive from Backend")
    name = subject.backend.name
    expect(isinstance(name, str) and name.isidentifier(), f"its name is {name!r}")


def _probe(subject: Subject) -> None:
    first, second = subject.backend.probe(), subject.backend.probe()
    expect(isinstance(first, list), f"probe gives {type(first).__name__}, not a list")
    expect(all(isinstance(info, DeviceInfo) for info in first), "probe gives more than DeviceInfo")
    devices = [info.device for info in first if isinstance(info, DeviceInfo)]
    again = [info.device for info in second if isinstance(info, DeviceInfo)]
    expect(devices == again, f"probe gives {devices}, then {again}")
    expect(len(set(devices)) == len(devices), f"a device is named twice: {devices}")


def _capabilities(subject: Subject) -> None:
    capabilities = subject.capabilities
    expect(
        isinstance(capabilities, Capabilities), f"capabilities are {type(capabilities).__name__}"
    )
    expect(
        capabilities.dtypes <= ANY, f"no dtypes of tensorframe: {set(capabilities.dtypes - ANY)}"
    )
    expect(bool(capabilities.dtypes), "it holds no dtype")
    kinds = capabilities.fuses | capabilities.epilogues
    expect(all(isinstance(kind, Kind) for kind in kinds), f"no kinds of ops: {kinds}")
    expect(
        capabilities.max_inputs >= 2 and capabilities.max_ops >= 1,
        "a region has two inputs and an op",
    )


def _allocate(subject: Subject) -> None:
    handles = [subject.backend.allocate(subject.device, count) for count in (0, 1, 4096)]
    for handle in handles:
        subject.backend.free(handle)


def _refuse_less_than_none(subject: Subject) -> None:
    try:
        subject.backend.allocate(subject.device, -1)
    except (ValueError, MemoryError):
        pass
    else:
        raise AssertionError("allocate gives -1 bytes")
    _allocate(subject)


def _refuse(subject: Subject) -> None:
    try:
        subject.backend.allocate(subject.device, IMPOSSIBLE)
    except MemoryError:
        pass
    else:
        raise AssertionError(f"allocate gives {IMPOSSIBLE} bytes, which there are not")
    _allocate(subject)


def _region(subject: Subject, outputs: tuple[int, ...]) -> Region:
    """Return the region of `a + b` and its negative, in a dtype that the device holds."""
    dtype = next(dtype for dtype in subject.dtypes() if dtype in find("negative").accepts)
    shape = (3, 5)
    add = RegionOp(find("add"), (), (0, 1), shape, dtype)
    negative = RegionOp(find("negative"), (), (2,), shape, dtype)
    return Region(((shape, dtype), (shape, dtype)), (add, negative), outputs)


def _run(subject: Subject, region: Region) -> None:
    backend, device = subject.backend, subject.device
    program = backend.compile(region, device)
    for seed in (1, 2):
        arrays = [small_numbers(dtype, shape, seed) for shape, dtype in region.inputs]
        inputs = [backend.upload(device, array.copy()) for array in arrays]
        results = program([source.handle for source in inputs], [None] * len(region.outputs))
        total = arrays[0] + arrays[1]
        values = {2: total, 3: np.negative(total)}
        expect(len(results) == len(region.outputs), f"{len(results)} results")
        for value, handle in zip(region.outputs, results, strict=True):
            storage = backend.wrap(device, handle)
            _is_storage(subject, storage, values[value])
            download = backend.download(storage)
            expect(same_bits(download, values[value]), f"found\n{download}\nnot\n{values[value]}")
        for before, storage in zip(arrays, inputs, strict=True):
            expect(same_bits(backend.download(storage), before), "the program changed an input")


def _is_storage(
    subject: Subject, storage: Storage, wanted: np.ndarray[tuple[int, ...], np.dtype[np.generic]]
) -> None:
    expect(isinstance(storage, Storage), f"wrap gives {type(storage).__name__}")
    told = (storage.device, storage.dtype, storage.shape)
    expect(told == (subject.device, wanted.dtype, wanted.shape), f"wrap gives storage of {told}")


def _compile(subject: Subject) -> None:
    _run(subject, _region(subject, (3,)))


def _outputs(subject: Subject) -> None:
    if Kind.MAP in subject.capabilities.fuses:
        _run(subject, _region(subject, (2, 3)))


def _supports(subject: Subject) -> None:
    held = subject.capabilities.dtypes
    for op in rows():
        for dtype in op.accepts:
            count = 1 if op.arity is None else op.arity
            operands = [bool_] * op.conditions + [dtype] * (count - op.conditions)
            answer = subject.backend.supports(op, operands, dtype, subject.device)
            expect(isinstance(answer, bool), f"{op.name}: {answer!r} is no bool")
            lacks = f"it claims {op.name} of {dtype}, and does not hold that dtype"
            expect(not answer or dtype in held, lacks)


def _rest(subject: Subject) -> None:
    text = subject.backend.source(_region(subject, (3,)), subject.device)
    expect(isinstance(text, str), f"source gives {type(text).__name__}")
    subject.backend.synchronize(subject.device)
