"""Predictions: what part of its memory's bandwidth a kernel can use, from its machine code alone.

By Little's law, memory is busy when bandwidth times latency bytes are on their way. A thread has those in flight that
it reads in one turn of its loop before it needs the first; a multiprocessor runs as many threads as its registers and
shared memory allow. Bandwidths and numbers of multiprocessors are from NVIDIA's data sheets; the latency under load is
an assumption. Arithmetic is not looked at: kernels with much of it are slower than predicted here.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.sass.machine_code import MachineCode

LATENCY = 0.8e-6  # seconds
BEST = 0.94  # the part of the data sheet's bandwidth that the best copies reach
LANES = 256


@dataclass(frozen=True)
class Gpu:
    """A GPU as its data sheet has it; registers and shared memory are those of a multiprocessor."""

    name: str
    bandwidth: float  # bytes a second
    multiprocessors: int
    threads: int
    shared: int
    registers: int = 65536

    @property
    def needed(self) -> float:
        """Bytes that have to be on their way for each multiprocessor."""
        return self.bandwidth * LATENCY / self.multiprocessors


GPUS = {
    "sm_80": Gpu("A100 80 GB", 2.04e12, 108, 2048, 164 << 10),
    "sm_90": Gpu("H200", 4.8e12, 132, 2048, 228 << 10),
    "sm_100": Gpu("B200", 8.0e12, 148, 2048, 228 << 10),
    "sm_120": Gpu("RTX 5090", 1.79e12, 170, 1536, 100 << 10),
}


def threads_at_once(code: MachineCode, gpu: Gpu) -> int:
    """Return how many threads of a kernel a multiprocessor runs at once (its occupancy)."""
    registers = -(-max(code.registers, 16) // 8) * 8 * LANES
    groups = min(gpu.threads // LANES, gpu.registers // registers)
    if code.shared:
        groups = min(groups, gpu.shared // (code.shared + 1024))  # the system takes 1 KiB a group
    return groups * LANES


def in_flight(code: MachineCode, gpu: Gpu) -> int:
    """Return the bytes that are on their way at once for each multiprocessor."""
    return threads_at_once(code, gpu) * code.bytes_read


def share_of_bandwidth(code: MachineCode, gpu: Gpu) -> float:
    """Return the part of the bandwidth that the kernel can use."""
    return BEST * min(1.0, in_flight(code, gpu) / gpu.needed)
