"""Extensions: what a package adds beside devices, from outside of this repository.

There are four places: elementwise ops (`ElementwiseOp`), dialects of kernel text (`Dialect`), formats of files
(`FileFormat`) and columns of `explain` (`Column`). A package announces each as an entry point, and users need not
register anything; a program of yours may `register` them. They are written for the version of the interface that
`tensorframe.backends` has, `INTERFACE_VERSION`, and what is exported here is part of that contract.
"""

from __future__ import annotations

from typing import Any

from tensorframe.backends.contract import INTERFACE_VERSION, About
from tensorframe.backends.extension_points import OPS, POINTS, Listed, listed, point_of
from tensorframe.codegen.c import print_kernel
from tensorframe.codegen.c_dialect import Bodies, Dialect, DynamicSharedMemory
from tensorframe.codegen.raw.c import print_raw
from tensorframe.documentation.docstrings import complete_module
from tensorframe.errors import ArgumentError, TensorFrameError
from tensorframe.files.reader import Reader
from tensorframe.files.sink import Sink
from tensorframe.frontend.files.formats import FileFormat, elements, new_file
from tensorframe.frontend.user_functions.extension import ElementwiseOp
from tensorframe.schedule.columns import Column
from tensorframe.schedule.plan import Step

__all__ = [
    "INTERFACE_VERSION",
    "About",
    "Bodies",
    "Column",
    "Dialect",
    "DynamicSharedMemory",
    "ElementwiseOp",
    "FileFormat",
    "Listed",
    "Reader",
    "Sink",
    "Step",
    "elements",
    "listed",
    "new_file",
    "ops",
    "print_kernel",
    "print_raw",
    "register",
    "unregister",
]


def register(extension: Any) -> None:
    """Make an op, a dialect, a format or a column known by its `name`, in this process.

    It takes the place of an installed one of that name. ArgumentError for what extends nothing, for a name that is
    taken by this package or is none, and for another version of the interface.

    >>> from tensorframe.extensions import ElementwiseOp, register, unregister
    >>> register(ElementwiseOp(lambda x: x * x * x, name="cubed"))
    >>> tfr.extensions.ops.cubed(tfr.asarray([2.0])).tolist()
    [8.0]
    >>> unregister("cubed")
    """
    point_of(extension).add(extension)


def unregister(name: str) -> None:
    """Forget what was registered under a name; what an installed package has under it is there again.

    ArgumentError if nothing was.
    """
    removed = [point.remove(name) for point in POINTS]
    if not any(removed):
        raise ArgumentError(f"unregister: no extension was registered as {name!r}")


class _Ops:
    """The elementwise ops of packages, by name."""

    def __getattr__(self, name: str) -> ElementwiseOp:
        extension = None if name.startswith("_") else OPS.extension(name)
        if extension is None:
            known = ", ".join(OPS.names()) or "none is installed"
            raise AttributeError(f"no package brings the op {name!r}: {known}", name=name, obj=self)
        if extension.value is None:
            raise TensorFrameError(
                f"the op {name!r} of the package {extension.origin} is of no use: {extension.failure}",
                suggestions=(extension.fix or "tfr.doctor()",),
            )
        op: ElementwiseOp = extension.value
        return op

    def __dir__(self) -> list[str]:
        return [*OPS.names()]


ops = _Ops()

complete_module(__name__)
