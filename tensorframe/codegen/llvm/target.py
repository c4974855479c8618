"""What the text of a kernel depends on besides the kernel: the machine and the process that it is printed for."""

from __future__ import annotations

from tensorframe.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A processor, and where an array object keeps the address of its data (None: slots hold that address itself)."""

    triple: str
    features: frozenset[str]
    data_offset: int | None

    @property
    def is_x86(self) -> bool:
        """Whether it is a 64-bit x86 processor."""
        return self.triple.startswith("x86_64")

    @property
    def is_arm(self) -> bool:
        """Whether it is a 64-bit ARM processor."""
        return self.triple.startswith(("aarch64", "arm64"))

    @property
    def has_tiles(self) -> bool:
        """Whether tiles of a product fit into registers, to which products are added in one instruction."""
        return self.is_arm or (self.is_x86 and {"+avx2", "+fma"} <= self.features)

    @property
    def is_windows(self) -> bool:
        """Whether the C library is Microsoft's."""
        return "windows" in self.triple

    @property
    def has_masks(self) -> bool:
        """Whether vectors of 256 bits of any dtype are loaded and stored under a mask, and have enough registers."""
        return self.is_x86 and {"+avx512vl", "+avx512bw", "+avx512dq", "+fma"} <= self.features

    @property
    def converts_half(self) -> bool:
        """Whether the processor converts float16 itself: all but old x86 do."""
        return not self.triple.startswith("x86") or "+f16c" in self.features
