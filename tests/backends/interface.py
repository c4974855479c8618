"""The contract of backends as text: `python -m tests.backends.interface` writes it anew beside this file.

What is in the text is promised to plug-ins. A change needs another INTERFACE_VERSION: the minor number for what has a
default, the major number for everything else.
"""

import dataclasses
import inspect
from pathlib import Path

from tensorframe import backends, extensions

RECORDED = Path(__file__).with_suffix(".txt")
CLASSES = (
    *("About", "Backend", "Capabilities", "DeviceInfo", "KernelBackend"),
    *("Queue", "Region", "RegionOp", "Storage", "Traits"),
)
EXTENSIONS = (
    "Bodies",
    "Column",
    "Dialect",
    "DynamicSharedMemory",
    "ElementwiseOp",
    "FileFormat",
    "Listed",
)
FUNCTIONS = (
    "elements",
    "listed",
    "new_file",
    "print_kernel",
    "print_raw",
    "register",
    "unregister",
)
# of a step of a plan, for columns; what else it has is for those who run it
OF_STEPS = (
    "device",
    "region",
    "names",
    "bytes_read",
    "bytes_written",
    "flops",
    "backward",
    "seconds",
)
# of a row of the table of operations; what else it has is for passes
OF_ROWS = ("name", "kind", "arity", "accepts", "attributes", "conditions", "parts", "whole")


def text() -> str:
    """Return the version, and each class's fields and methods with their signatures."""
    lines = ["version {}.{}".format(*backends.INTERFACE_VERSION)]
    lines += [f"Kind {kind.name}" for kind in backends.Kind]
    fields = {field.name for field in dataclasses.fields(backends.Op)}
    lines += [f"Op.{name}" for name in OF_ROWS if name in fields]
    for name in CLASSES:
        lines += [f"{name}{line}" for line in _of(getattr(backends, name))]
    for name in EXTENSIONS:
        lines += [f"extensions.{name}{line}" for line in _of(getattr(extensions, name))]
    lines += [f"extensions.{name}{_shown(getattr(extensions, name))}" for name in FUNCTIONS]
    steps = {field.name for field in dataclasses.fields(extensions.Step)}
    lines += [f"extensions.Step.{name}" for name in OF_STEPS if name in steps]
    return "\n".join(lines) + "\n"


def _of(cls: type) -> list[str]:
    if dataclasses.is_dataclass(cls):
        fields = dataclasses.fields(cls)
        return [f".{field.name}: {field.type}{_default(field)}" for field in fields]
    names = getattr(cls, "_fields", None) or [name for name in vars(cls) if _is_public(name, cls)]
    abstract: frozenset[str] = getattr(cls, "__abstractmethods__", frozenset())
    return [f".{name}{_shown(vars(cls)[name])}{' *' * (name in abstract)}" for name in names]


def _is_public(name: str, cls: type) -> bool:
    """Whether a member is promised: of an op, how it is made as well."""
    return not name.startswith("_") or (name == "__init__" and cls is extensions.ElementwiseOp)


def _default(field: dataclasses.Field[object]) -> str:
    needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    return "" if needed else " = ..."


def _shown(member: object) -> str:
    member = inspect.unwrap(getattr(member, "__func__", member))
    return str(inspect.signature(member)) if inspect.isfunction(member) else ""


if __name__ == "__main__":
    RECORDED.write_text(text(), encoding="utf-8")
