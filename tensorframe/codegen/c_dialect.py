"""Dialects of C: how OpenCL C, CUDA C++ and languages of other packages spell what the language leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorframe.quick_dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Bodies:
    """What the bodies of users' own kernels take of a C dialect beside what generated kernels do."""

    numbers: Mapping[str, str]
    """Dtype -> how a number is made of a word {low}, and of the one behind it, {high}."""
    local: str
    """The type of a pointer to memory of {type} that a group shares."""
    function: str
    """What the declaration of a function of its own begins with."""
    prelude: str = ""
    types: Mapping[str, str] = field(default_factory=dict)
    """Dtype -> the type of an element, where it is another one, or the dialect has none."""
    reserved: frozenset[str] = frozenset()
    """Names that users cannot have."""


@dataclass(frozen=True, slots=True)
class DynamicSharedMemory:
    """How kernels declare dynamic shared memory, which a launch sets the size of: more than `beyond` bytes of it."""

    beyond: int
    declaration: str
    """Of all {bytes}."""
    part: str
    """Declaration of {count} elements of {type} called {name}, which begin with its byte {first}."""


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """How a C dialect spells what the language leaves open.

    Another package's is announced under its `name` in the group `tensorframe.dialects`: `explain(source=name)` prints
    kernels in it, `raw_kernel` and `ElementwiseOp` take texts in it, and devices run it whose
    `Capabilities.language` is that name.
    """

    name: str
    types: dict[str, str]  # dtype -> the type of a value
    stored: dict[str, str]  # dtype -> the type of an element in memory
    suffixes: dict[str, str]  # dtype -> what follows a literal
    prelude: str
    signature: (
        str  # of a kernel {name} with {operands}, and {argument}: a struct {words} of {count} words
    )
    operand: str  # {const}{type} {name}
    shared: str  # declaration of {count} elements of {type} called {name}
    barrier: str
    grid: tuple[str, str]  # the first index of a thread, and the number of threads
    groups: tuple[str, str]
    lane: str
    vector: str  # declaration of a type {name}: {count} elements of {type}, which begin at a multiple of {bytes}
    pointer: str  # to a {const}{type} in memory
    address: str  # the type of an address as a number
    subgroup: int = 0  # neighbouring threads among which `shuffled` reads values
    helpers: Mapping[str, str] = field(
        default_factory=dict
    )  # functions, printed where they are used
    # narrow dtypes that it has in memory: how an element is loaded ({buffer}, {at}) and stored ({value})
    narrow: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    title: str = ""  # what people call it, if not by its name
    bodies: Bodies | None = None  # without them it takes no raw kernels
    copied: str = ""  # waits for what `copy_neighbours` copies; without it there are no tiles of half precision
    dynamic_shared: DynamicSharedMemory | None = None  # without it all shared memory is declared
    occupancy: str = ""  # {occupancy} of a signature: registers suffice for {groups} at once
    vectorizes_threads: bool = False  # by its compilers, as those for processors do
    about: Any = None  # of a package's own: for which version of the interface it was written
