"""A GPU that is the processor: CuPy's calls as the CUDA backend makes them, and kernels compiled as C++ for the host.

What runs is the printed text of the CUDA dialect, with a thread for each lane, and its arguments are read where the
driver would read them. It takes the place of CuPy in the backend's modules; CuPy's own arrays and pointers stay.
"""

import ctypes
import platform
import shutil
import subprocess
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from types import SimpleNamespace
from typing import Any, ClassVar
from unittest.mock import patch

import cupy
import numpy as np

from tensorframe.backends import nvidia
from tensorframe.backends.cuda import (
    arrays,
    devices,
    engine,
    error_translation,
    libraries,
    loaded,
    peers,
    queue,
    staging,
    streams,
    timeline,
)
from tensorframe.backends.registry import register, unregister

# conversions of half precision are instructions of one family of processors
COMPILER = shutil.which("g++") if platform.machine() == "x86_64" else None
MULTIPROCESSORS = 1
LANES = 4
SMALL = 1 << 30
BROUGHT = 99 << 10  # bytes that a launch may bring for a group, as a GeForce has it

_THREADS = r"""
#include <barrier>
#include <thread>
#include <vector>
#include <immintrin.h>
extern "C" unsigned short half_of_float(float x) { return _cvtss_sh(x, 0); }
extern "C" float float_of_half(unsigned short bits) { return _cvtsh_ss(bits); }
static std::barrier<>* here;
extern "C" void wait_here() { here->arrive_and_wait(); }
extern "C" void run_groups(
    void (*entry)(unsigned, unsigned, unsigned, unsigned, void**),
    unsigned groups, unsigned lanes, void** arguments) {
    std::barrier<> all(lanes);
    here = &all;
    std::vector<std::thread> threads;
    for (unsigned lane = 0; lane < lanes; ++lane)
        threads.emplace_back([=, &all] {
            for (unsigned group = 0; group < groups; ++group) {
                entry(group, lane, groups, lanes, arguments);
                all.arrive_and_wait();
            }
        });
    for (auto& one : threads) one.join();
}
"""
_DYNAMIC = f"__shared__ double dynamic_shared[{BROUGHT // 8}]"
# without any header: reading those would take longer than compiling a kernel
_KERNEL = r"""
#define __HIP__
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define memcpy __builtin_memcpy
#define REAL(name) \
    static inline float name(float x) { return __builtin_##name##f(x); } \
    static inline double name(double x) { return __builtin_##name(x); }
REAL(floor) REAL(ceil) REAL(trunc) REAL(rint) REAL(sqrt) REAL(fabs) REAL(exp)
static inline int min(int x, int y) { return x < y ? x : y; }
static inline int max(int x, int y) { return x > y ? x : y; }
static inline float __int_as_float(int x) { float y; memcpy(&y, &x, 4); return y; }
static inline double __longlong_as_double(long long x) { double y; memcpy(&y, &x, 8); return y; }
static inline float copysign(float x, float y) { return __builtin_copysignf(x, y); }
static inline double copysign(double x, double y) { return __builtin_copysign(x, y); }
static inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
extern "C" unsigned short half_of_float(float);
extern "C" float float_of_half(unsigned short);
extern "C" void wait_here();
struct Half {
    unsigned short bits;
    explicit Half(float x) : bits(half_of_float(x)) {}
    Half() = default;
    explicit operator float() const { return float_of_half(bits); }
};
#define _Float16 Half
struct Place { unsigned x; };
static thread_local Place threadIdx, blockIdx, blockDim, gridDim;
#define __syncthreads() wait_here()
static unsigned long long shuffling[1024];
template <typename T> static T __shfl(T x, int lane, int width) {
    memcpy(&shuffling[threadIdx.x], &x, sizeof(x));
    wait_here();
    memcpy(&x, &shuffling[threadIdx.x / width * width + lane], sizeof(x));
    wait_here();
    return x;
}
"""
_ENTRY = r"""
template <typename T> struct Plain { typedef T type; };
template <typename T> struct Plain<const T> { typedef T type; };
template <int... At> struct List {};
template <int N, int... At> struct Upto : Upto<N - 1, N - 1, At...> {};
template <int... At> struct Upto<0, At...> { typedef List<At...> type; };
template <typename... Kinds, int... At>
static void apply(void (*kernel)(Kinds...), void** arguments, List<At...>) {
    kernel(*(typename Plain<Kinds>::type*)arguments[At]...);
}
template <typename... Kinds>
static void apply(void (*kernel)(Kinds...), void** arguments) {
    apply(kernel, arguments, typename Upto<sizeof...(Kinds)>::type());
}
extern "C" void entry(unsigned group, unsigned lane, unsigned groups, unsigned lanes, void** arguments) {
    threadIdx.x = lane; blockIdx.x = group; blockDim.x = lanes; gridDim.x = groups;
    apply(NAME, arguments);
}
"""


@cache
def folder():
    return Path(mkdtemp(prefix="host_gpu_"))


def built(name, source, *more):
    """A shared library of a source in C++."""
    library = folder() / f"{name}.so"
    if not library.exists():
        (folder() / f"{name}.cpp").write_text(source)
        options = ["-std=c++20", "-O0", "-fPIC", "-shared", "-ffp-contract=off", "-mf16c", "-mfma"]
        command = [COMPILER, *options, "-w", f"{folder()}/{name}.cpp", *more, "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return library


@cache
def threads():
    return ctypes.CDLL(str(built("threads", _THREADS, "-pthread")), mode=ctypes.RTLD_GLOBAL)


class RuntimeFailedError(RuntimeError):
    """CuPy's error of the runtime, with the number that the driver gives."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class HostDevice:
    """Which GPU is the current one is a stack, and every call asks whether it is the right one."""

    stack: ClassVar[list[Any]] = [0]

    def __init__(self, index):
        self.id = index

    def __enter__(self):
        self.stack.append(self.id)

    def __exit__(self, *_):
        assert self.stack.pop() == self.id


class HostEvent:
    done = True  # everything runs at once

    def __init__(self, **_):
        self.recorded = None

    def record(self, stream):
        self.recorded = stream

    def synchronize(self):
        pass


class HostStream:
    """Runs everything at once, and notes what waits for what."""

    current: ClassVar[list[Any]] = []
    external: ClassVar[dict[int, Any]] = {}  # those of other libraries, by their address

    @classmethod
    def from_external(cls, stream):
        version, address = stream.__cuda_stream__()
        assert version == 0
        return cls.external.setdefault(address, cls(non_blocking=True))

    def __init__(self, *, non_blocking=False):
        assert non_blocking
        self.ptr = id(self)
        self.device = HostDevice.stack[-1]
        self.waited = []

    def record(self):
        event = HostEvent()
        event.record(self)
        return event

    def wait_event(self, event):
        self.waited.append(event.recorded)

    def synchronize(self):
        pass

    def __enter__(self):
        self.current.append(self)

    def __exit__(self, *_):
        assert self.current.pop() is self


class HostMemory:
    """Bytes with room on both sides that nobody may touch."""

    live: ClassVar[dict[Any, Any]] = {}
    limit = SMALL

    def __init__(self, nbytes):
        if sum(one.nbytes for one in self.live.values()) + nbytes > type(self).limit:
            raise RuntimeFailedError(2, "cudaErrorMemoryAllocation: out of memory")
        self.array = np.full(nbytes, 0xA5, np.uint8)
        self.ptr = self.array.__array_interface__["data"][0]
        self.size = nbytes
        self.device_id = HostDevice.stack[-1]
        self.live[self.ptr] = self.array

    def __del__(self):
        self.live.pop(getattr(self, "ptr", None), None)


def is_on_device(address, nbytes):
    return any(
        first <= address and address + nbytes <= first + array.nbytes
        for first, array in list(HostMemory.live.items())
    )


class HostRuntime:
    """CuPy's `runtime`: properties and copies."""

    CUDARuntimeError = RuntimeFailedError
    is_hip = False
    memcpyHostToDevice, memcpyDeviceToHost, memcpyDeviceToDevice = 1, 2, 3  # noqa: N815 - CuPy's

    def __init__(self, count):
        self.count = count
        self.copies = []

    def getDeviceCount(self):
        return self.count

    def memGetInfo(self):
        used = sum(one.nbytes for one in HostMemory.live.values())
        return max(HostMemory.limit - used, 0), HostMemory.limit

    def driverGetVersion(self):
        return 13020

    def getDeviceProperties(self, index):
        return {
            "name": f"Host {index}".encode(),
            "totalGlobalMem": HostMemory.limit,
            "multiProcessorCount": MULTIPROCESSORS,
            "maxThreadsPerBlock": self.lanes,
            "sharedMemPerBlock": 48 << 10,
            "sharedMemPerBlockOptin": BROUGHT,
            "major": 9,
            "minor": 0,
            "computeMode": 0,
            "integrated": 0,
            **dict.fromkeys(("pciDomainID", "pciBusID", "pciDeviceID"), index),
        }

    def memcpyAsync(self, target, source, nbytes, kind, stream):
        assert stream in {id(one) for one in (*HostStream.current, *self.streams())}
        ends = {1: (target,), 2: (source,), 3: (target, source)}[kind]
        assert all(is_on_device(one, nbytes) for one in ends)
        self.copies.append((kind, nbytes))
        ctypes.memmove(target, source, nbytes)

    def memcpyPeerAsync(self, target, target_index, source, source_index, nbytes, stream):
        assert is_on_device(target, nbytes)
        assert is_on_device(source, nbytes)
        self.copies.append(((source_index, target_index), nbytes))
        ctypes.memmove(target, source, nbytes)

    def streams(self):
        queues = [device.queue for device in self.backend._open_devices.values()]
        return [stream for queue in queues for stream in (queue.stream, queue.copies)]


class HostFunction:
    def __init__(self, name, source):
        declared = source[source.index("void __launch_bounds__") :].partition("(")[0]
        assert name in source, declared
        threads()
        here = source.replace("extern __shared__ double dynamic_shared[]", _DYNAMIC)
        text = _KERNEL + here + _ENTRY.replace("NAME", name)
        library = ctypes.CDLL(str(built(name, text)))
        self.entry = ctypes.cast(library.entry, ctypes.c_void_p)
        self.ptr = id(self)
        self.library = library


class HostModule:
    def load(self, code):
        self.source = code.decode()

    def get_function(self, name):
        function = HostFunction(name, self.source)
        HostDriver.functions[function.ptr] = function
        return function


class HostDriver:
    """CuPy's `driver`: launches, with what it was given."""

    class CUDADriverError(RuntimeFailedError):
        pass

    functions: ClassVar[dict[Any, Any]] = {}

    def __init__(self):
        self.launches = []
        self.allowed = {}

    def funcSetAttribute(self, function, attribute, value):
        assert attribute == cupy.cuda.driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        assert value <= BROUGHT
        self.allowed[function] = value

    def launchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra):
        assert (gy, gz, by, bz, extra) == (1, 1, 1, 1, 0)
        # more than 48 KiB have to be asked for
        assert shared == self.allowed.get(function, 0)
        assert 1 <= gx <= 2**31 - 1
        assert bx <= self.lanes
        self.launches.append((gx, bx))
        entry = self.functions[function].entry
        threads().run_groups(entry, gx, bx, ctypes.c_void_p(arguments))


class HostArrays:
    """CuPy as the backend sees it."""

    def __init__(self, count):
        self.runtime = HostRuntime(count)
        self.driver = HostDriver()
        self.default = HostStream(non_blocking=True)
        self.get_default_memory_pool = lambda: self
        self.freed = 0  # how often CuPy's own pool was emptied
        self.cuda = SimpleNamespace(
            runtime=self.runtime,
            driver=self.driver,
            nvrtc=SimpleNamespace(getSupportedArchs=lambda: (80, 90, 100)),
            function=SimpleNamespace(Module=HostModule),
            Device=HostDevice,
            Stream=HostStream,
            Event=HostEvent,
            Memory=HostMemory,
            get_elapsed_time=lambda began, ended: 0.25 * (began.recorded is ended.recorded),
            alloc_pinned_memory=_pinned,
            MemoryPointer=cupy.cuda.MemoryPointer,
            BaseMemory=cupy.cuda.BaseMemory,
            using_allocator=cupy.cuda.using_allocator,
            get_current_stream=lambda: (*HostStream.current, self.default)[0],
        )

    def free_bytes(self):
        return 0

    def free_all_blocks(self):
        self.freed += 1

    def __getattr__(self, name):
        return getattr(cupy, name)


def _pinned(nbytes):
    return np.zeros(nbytes, np.uint8)


@contextmanager
def host_gpu(count=1, limit=SMALL, lanes=LANES):
    """Have `cuda` be the processor; gives what stands in for CuPy, with what it was asked."""
    fake = HostArrays(count)
    fake.runtime.lanes = fake.driver.lanes = lanes
    backend = engine.CudaBackend()
    fake.runtime.backend = backend
    with (
        patch.multiple(HostMemory, live={}, limit=limit),
        patch.object(queue, "cupy", fake),
        patch.object(loaded, "cupy", fake),
        patch.object(error_translation, "cupy", fake),
        patch.object(staging, "cupy", fake),
        patch.object(arrays, "cupy", fake),
        patch.object(streams, "cupy", fake),
        patch.object(timeline, "cupy", fake),
        patch.dict(HostStream.external, clear=True),
        patch.object(peers, "cupy", fake),
        patch.object(libraries, "cupy", fake),
        patch.object(queue, "code_of", lambda name, source, architecture: source.encode()),
        patch.object(engine, "find", lambda _: devices._usable(fake, count)),
        patch.object(nvidia, "free_memory", lambda *_: None),
    ):
        engine._found.cache_clear()
        engine._family.cache_clear()
        register(backend, "cuda", override=True)
        try:
            yield fake
        finally:
            unregister("cuda")
            engine._found.cache_clear()
            engine._family.cache_clear()


@contextmanager
def recorded(lanes=256):
    """Have `cuda` run nothing; gives the kernels that it is asked to build, by the name of their text."""
    found = {}

    def build(self, kernel):
        text = queue.print_kernel(kernel, queue.DIALECT)
        found[text.name] = text.source
        return

    with (
        host_gpu(lanes=lanes),
        patch.object(libraries, "CALLS", {}),
        patch.object(queue.CudaQueue, "build", build),
        patch.object(queue.CudaQueue, "launch", lambda *_: None),
    ):
        yield found
