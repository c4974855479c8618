"""What a backend is: its capabilities as data, regions as data, and the few methods that run them."""

from __future__ import annotations

import operator
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from tensorframe.backends.budget import Budget
from tensorframe.backends.contract import About
from tensorframe.backends.storage import Storage
from tensorframe.dtypes import ANY, FLOAT, DType
from tensorframe.errors import ArgumentError
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.quick_dataclasses import dataclass

if TYPE_CHECKING:
    from tensorframe.backends.bound import Calls, NativeCall
    from tensorframe.backends.settings import Setting
    from tensorframe.files.reader import Reader


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a device can do: passes depend on this, not on the backend's name."""

    dtypes: frozenset[DType] = ANY
    fuses: frozenset[Kind] = frozenset({Kind.MAP})  # kinds that run inside one region
    # kinds that run in the step of a product, on blocks that are in the cache
    epilogues: frozenset[Kind] = frozenset()
    # a product of what is made of a product's rows runs in the step of that one
    chains: bool = False
    compiles: bool = False  # regions become kernels: ops of several shapes share loops
    one_pass_variance: bool = (
        False  # squared distances from a mean are summed in the pass that sums the mean's elements
    )
    # what several reductions need of a row of any length is read once for all of them, and once more to write
    long_rows: bool = False
    row_by_row: bool = (
        False  # kernels run along rows on vectors, and keep what several passes over a row need
    )
    # dtypes of which `matmul` reads factors as they are, though its result, the attribute `dtype`, is wider
    small_factors: frozenset[DType] = frozenset()
    # whether it does so for integers, and few rows or columns, alone: other large products are left to a library
    only_thin: bool = False
    # whether it computes rows that are marked as `whole` itself, instead of what they are written in
    whole: bool = False
    max_inputs: int = 64  # distinct operands of one region
    max_ops: int = 64
    host_memory: bool = False  # handles are NumPy arrays
    runs_small: bool = False  # small graphs may run op by op in NumPy, without a plan
    executes: bool = True  # False: plans can be made, not run
    # values are blocks that tasks make, which `Backend.settle` has run at the end of a plan
    chunked: bool = False
    # in which sources of raw kernels are run: "cpu" (Python, by Numba), "opencl", "wgsl", "cuda"; empty for none
    language: str = ""


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device as discovery found it: what a cheap probe can tell, None or empty where it cannot."""

    device: Device
    name: str
    """The maker's name for it."""
    capabilities: Capabilities
    total_memory: int | None = None
    """Bytes, those in use included."""
    free_memory: int | None = None
    """Bytes that were free when it was probed."""
    driver: str = ""
    """What runs it, with its version."""
    api: str = ""
    """The interface behind a backend that has several: vulkan, metal, dx12 or gl."""
    software: bool = False
    """Runs on the processor what was written for a GPU: never chosen automatically."""
    unified_memory: bool = False
    """Shares its memory with the host."""
    compute_capability: tuple[int, int] | None = None
    """Of NVIDIA's devices: (9, 0)."""
    max_buffer: int | None = None
    """Bytes of one buffer at most."""
    max_binding: int | None = None
    """Bytes of a buffer that a kernel sees at once, at most."""
    max_bindings: int | None = None
    """Buffers of one kernel at most."""
    max_group: int | None = None
    """Threads of a work-group at most."""
    shared_memory: int | None = None
    """Bytes that the threads of a work-group share at most."""
    subgroup: int | None = None
    """Threads that run in step, the fewest where that varies: a warp, a wavefront."""
    bandwidth: float | None = None
    """Bytes per second of a large copy, read and written; None until `tfr.calibrate` has measured it."""
    flops: float | None = None
    """Float32 operations per second at best; None until `tfr.calibrate` has measured it."""

    @property
    def precisions(self) -> tuple[str, ...]:
        """The floating-point dtypes that it computes with, the narrowest first."""
        able = [dtype for dtype in self.capabilities.dtypes if dtype in FLOAT]
        return tuple(
            [dtype.name for dtype in sorted(able, key=lambda known: (known.itemsize, known.name))]
        )

    def __repr__(self) -> str:
        """What is known of it; its capabilities would fill a page."""
        shown = [
            f"{entry.name}={getattr(self, entry.name)!r}"
            for entry in fields(self)
            if entry.name != "capabilities" and getattr(self, entry.name) != entry.default
        ]
        return f"DeviceInfo({', '.join(shown)})"


# Runs a region: input handles and one buffer (or None) per output -> output handles.
# A buffer is memory of the right size that nobody needs any more; the program may write into it.
Program = Callable[[Sequence[Any], Sequence[Any | None]], Sequence[Any]]


def quiet(program: Program) -> Program:
    """Mark a program that never makes NumPy warn about overflow, NaN or division by zero, and return it.

    The executor silences these warnings around the others, which takes longer than a small kernel.
    """
    program.quiet = True  # type: ignore[attr-defined]
    return program


def is_quiet(program: Program) -> bool:
    """Whether the program is marked as one that never makes NumPy warn."""
    return getattr(program, "quiet", False)


def settled(program: Program, *, now: bool = False) -> Program | None:
    """Return what runs for good: a program, or the one that is to take its place. None until then, unless `now`."""
    successor = getattr(program, "settled", None)
    return program if successor is None else successor(now=now)


def byte_count(nbytes: int) -> int:
    """Return how many bytes `allocate` is asked for: ArgumentError for less than none, MemoryError for too many."""
    count = operator.index(nbytes)
    if count < 0:
        raise ArgumentError(f"allocate: there are no {count} bytes", suggestions=("0 or more",))
    if count > sys.maxsize:
        raise MemoryError(f"{count} bytes are more than can be addressed")
    return count


class Clock(Protocol):
    """Counts while it is entered how long a device works on what one thread gives it: a lap for each step."""

    def __enter__(self) -> Clock:
        """Begin."""

    def __exit__(self, *_: object) -> None:
        """Count no longer."""

    def lap(self) -> None:
        """Note that a step is done."""

    def laps(self) -> list[int | None]:
        """Return the nanoseconds of each lap; None where nothing was counted."""


class LaunchGraph(Protocol):
    """The launches of a plan, which a device takes all at once."""

    def fits(self, operands: Sequence[Any]) -> bool:
        """Whether it runs on these handles."""

    def run(self, operands: Sequence[Any]) -> list[Any]:
        """Return the results for other handles of the same shapes and dtypes."""


class Backend(ABC):
    """The interface that third parties implement; everything else is data.

    Handles are opaque: whatever the backend needs to find the bytes.
    """

    name: str
    about: ClassVar[About | None] = None
    """What a plug-in says of itself, the version of the interface first."""
    library: Mapping[str, Callable[..., Any]] = {}

    @abstractmethod
    def probe(self) -> list[DeviceInfo] | str:
        """Return the devices that are there, or the reason that there are none; cheap, never raises."""

    @abstractmethod
    def allocate(self, device: Device, nbytes: int) -> Any:
        """Return the handle of `nbytes` new bytes; MemoryError if there are none, ArgumentError for less than none."""

    def open(self, device: Device) -> None:
        """Get the device ready: by default that is done when it is first used."""

    def close(self, device: Device) -> None:
        """Give back what the device takes, once what runs on it is done; memory of its own is lost.

        It opens again when it is used. By default there is nothing to give back.
        """

    def is_open(self, device: Device) -> bool:
        """Whether the device is ready: by default it always is."""
        return True

    @abstractmethod
    def free(self, handle: Any) -> None:
        """Give the bytes back; garbage collection does too."""

    @abstractmethod
    def upload(self, device: Device, array: np.ndarray[Any, Any]) -> Storage:
        """Return storage on the device with the values of a host array."""

    @abstractmethod
    def download(self, storage: Storage) -> np.ndarray[Any, Any]:
        """Return the values as a host array that shares no memory with anything that changes."""

    @abstractmethod
    def compile(self, region: Region, device: Device) -> Program:
        """Return a program that runs the region; it is immutable and safe to call from several threads."""

    def prepared_calls(self, calls: Sequence[NativeCall | None]) -> Calls | None:
        """Return what runs bound calls without the interpreter, None where nothing does; see `backends/bound.py`."""
        return None

    @abstractmethod
    def wrap(self, device: Device, handle: Any) -> Storage:
        """Return the storage of a handle that a program returned."""

    def supports(self, op: Op, operands: Sequence[DType], result: DType, device: Device) -> bool:
        """Whether the device can run an op on operands of these dtypes; what it cannot runs on the cpu.

        By default everything whose dtypes are among the device's capabilities.
        """
        answer = self.probe()
        wanted = {*operands, result}
        return not isinstance(answer, str) and any(
            info.device is device and wanted <= info.capabilities.dtypes for info in answer
        )

    def bottleneck(self, region: Region, device: Device) -> str | None:
        """Return why a region does not run in blocks on a `chunked` device, by its shapes and dtypes; None if it does.

        Plans show it. The region still runs on the device: as one task, which takes all of what it reads.
        """
        return None

    def reaches(self, source: Device, target: Device) -> bool:
        """Whether `copy_from` can take values from `source` to `target`, a device of this backend, or the same one."""
        return False

    def copy_from(self, storage: Storage, target: Device) -> Storage:
        """Return storage on `target` with values of another device, without the host: the same memory, or a copy.

        Called where `reaches` says so. The storage may share memory, since values never change; from a device to itself
        it is a copy, for memory that somebody else may write to.
        """
        raise NotImplementedError

    def in_order_of(self, device: Device, stream: Any) -> AbstractContextManager[None] | None:
        """Return a context whose work on the device follows what a stream has been given so far.

        What the stream is given afterwards follows that work. `stream` is one of the device's own library, as a caller
        of `to_device` has it; None if the device has no such streams, or this is not one.
        """
        return None

    def native(self, storage: Storage) -> Any:
        """Return the object of the device's own library behind storage, without a copy.

        ValueError with the reason where that library has no word for the layout.
        """
        return storage.handle

    def adopt(
        self, obj: Any, shape: Shape | None = None, dtype: DType | None = None
    ) -> Storage | None:
        """Return storage that shares the memory of an object of the device's own library; None if it is no such.

        `shape` and `dtype` are what the user says of objects that do not know it themselves: what is missing raises
        ArgumentError, what does not fit the memory ShapeError. Of all others `tfr.from_native` compares them.
        """
        return None

    def read_in_blocks(self, device: Device, reader: Reader) -> Storage | None:
        """Return storage of an array in a file, which is read where it is computed with; None where the host reads."""
        return None

    def native_device(self, device: Device) -> Any:
        """Return what makes memory for the device in its own library; None where NumPy does."""
        return None

    def export_dlpack(self, storage: Storage) -> Any:
        """Return an object with `__dlpack__` and `__dlpack_device__` that shares the storage's memory.

        None where the device has no place in DLPack: then tensors are exported from the host.
        """
        return None

    def import_dlpack(self, obj: Any, device: Device) -> Storage | None:
        """Return storage on `device` that shares the memory of an exporter; None if it is not the device's."""
        return None

    def dlpack_home(self, kind: int, index: int) -> Device | None:
        """Return the device of this backend that DLPack calls device `index` of type `kind`; None if there is none."""
        return None

    def reusable(self, handle: Any) -> bool:
        """Whether a program may write into a handle that no tensor and no view refers to: it owns its memory."""
        return False

    def writes_over(self, region: Region, device: Device) -> bool:
        """Whether the program of a region writes its results over buffers that it is given: fewer bytes live then."""
        return False

    def scratch(self, region: Region, device: Device) -> int:
        """Return the bytes that running a region takes beside its operands and results, at most; 0 if that is unknown.

        It is asked while a plan is made, for devices that are not open too.
        """
        return 0

    def copies_reshaped(self, region: Region, device: Device) -> bool:
        """Whether the program of a region copies what it reshapes of an operand, where strides cannot say it.

        Kernels read it as it is. A plan counts such a copy beside what `scratch` says.
        """
        return False

    def budget(self, device: Device) -> Budget | None:
        """Return what may be taken of a device's memory: plans that do not fit are refused before they run.

        None where nothing is known of it: then every plan is tried. Devices of host memory share one.
        """
        return None

    def settle(self, device: Device, handles: Sequence[Any]) -> Sequence[Any]:
        """Return handles of the same values, computed: called once for all results of a plan on a device.

        Only where `Capabilities.chunked` says that programs give what is still to be computed. What is raised has the
        key of what failed in its attribute `key`, if that is known: see `backends/provenance.py`.
        """
        return handles

    def boolean_mask(self, mask: Storage, values: Storage | None) -> Storage | None:
        """Return the values where a mask of their first axes holds, in C order; None where the host is to look them up.

        Without values, the positions of these elements in the flattened mask, as int64. Only asked where
        `Capabilities.chunked` says that no mask should come to the host.
        """
        return None

    def device_settings(self, device: Device) -> Mapping[str, Setting]:
        """Return what `tfr.backends.configure` takes for a device, by name: only what changes something there."""
        return {}

    def configure(self, **options: Any) -> None:
        """Take settings of the backend's own, all or none: see `tfr.backends.configure`. By default there are none."""
        raise ArgumentError(f'configure("{self.name}"): the backend has no settings')

    def functions(self) -> Any:
        """Return the functions by which small graphs run op by op, where `Capabilities.runs_small` says that they do.

        A mapping like `backends/numpy/functions.py: Functions`, whose functions take and give NumPy's arrays.
        """
        raise NotImplementedError

    def source(self, region: Region, device: Device) -> str:
        """Return the text of the kernels that `compile` makes of a region; empty where it makes none."""
        return ""

    def hand_over(self, storage: Storage, step: str, location: str | None) -> None:
        """Have a device begin with what gives these values, and remember what they are, for errors that come late.

        `step` and `location` are for the error that reading them raises. By default values are there when programs
        return.
        """

    def wait_for(self, storage: Storage) -> None:
        """Return when values are there, whether they were handed over or not; raise what went wrong."""

    def is_read_early(self, storage: Storage) -> bool:
        """Whether values that were handed over can be read while the device does what it was given later."""
        return False

    def is_done(self, storage: Storage) -> bool:
        """Whether the device has done what gives these values; returns at once."""
        return True

    def capture(
        self,
        device: Device,
        operands: Sequence[Any],
        run: Callable[[Sequence[Any]], Sequence[Any]],
    ) -> LaunchGraph | None:
        """Return what `run` launches, for operands like these, as a graph; None where that cannot be captured.

        `run` takes handles and returns those of results; it may be called several times.
        """
        return None

    def clock(self, device: Device) -> Clock | None:
        """Return what measures steps by the device's own clock, for profiles; None if the device has no clock."""
        return None

    def synchronize(self, device: Device) -> None:
        """Return when the work submitted to the device is done; raise what was deferred."""
