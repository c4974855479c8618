"""The contract of backends as text: `python -m tests.backends.interface` writes it anew beside this file.

What is in the text is promised to plug-ins. A change needs another INTERFACE_VERSION: the minor number for what has a
default, the major number for everything else.
"""

import dataclasses
import inspect
from pathlib import Path

from tensorframe import backends

RECORDED = Path(__file__).with_suffix(".txt")
CLASSES = (
    *("About", "Backend", "Capabilities", "DeviceInfo", "KernelBackend"),
    *("Queue", "Region", "RegionOp", "Storage", "Traits"),
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
    return "\n".join(lines) + "\n"


def _of(cls: type) -> list[str]:
    if dataclasses.is_dataclass(cls):
        fields = dataclasses.fields(cls)
        return [f".{field.name}: {field.type}{_default(field)}" for field in fields]
    names = [name for name in vars(cls) if not name.startswith("_")]
    abstract: frozenset[str] = getattr(cls, "__abstractmethods__", frozenset())
    return [f".{name}{_shown(vars(cls)[name])}{' *' * (name in abstract)}" for name in names]


def _default(field: dataclasses.Field[object]) -> str:
    needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    return "" if needed else " = ..."


def _shown(member: object) -> str:
    member = getattr(member, "__func__", member)
    return str(inspect.signature(member)) if inspect.isfunction(member) else ""


if __name__ == "__main__":
    RECORDED.write_text(text(), encoding="utf-8")
