"""The API reference: pages written from the package as it is when it is imported.

Most functions are made from op rows at import, and methods are attached by the modules of their idea, so there is no
source for a documentation tool to read. Each function and each class has a page, which the page of its group lists; a
name of a module that no group knows is in the last group.
"""

from __future__ import annotations

import ast
import enum
import inspect
import pkgutil
import re
import textwrap
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from fields import field_list, prose_of

import tensorframe
from tensorframe.documentation.docstrings import exported
from tensorframe.documentation.sections import as_written
from tensorframe.frontend.tensor import Tensor
from tensorframe.testing.stubs import public_names, signature_text, written_in

GENERATED = "from op rows"
FRONTEND = "tensorframe.frontend."
NUMPY = "https://numpy.org/doc/stable/reference/generated/{}.html"


@dataclass(frozen=True)
class Group:
    """A page: its title, what it opens with, and where the names on it are written."""

    file: str
    title: str
    text: str
    homes: tuple[str, ...] = ()
    module: str = ""  # of a namespace, whose names are all on the page
    results: tuple[
        str, ...
    ] = ()  # classes that functions of the page return, and that have no public name


GROUPS = (
    Group(
        "tensor",
        "Tensor",
        "Methods and attributes. Operators work as in NumPy, `@` included, and all broadcast.",
        ("tensor",),
    ),
    Group(
        "creation",
        "Creation",
        "Tensors from values, from other libraries, and from nothing.",
        ("creation", "conversion", "protocols.native"),
    ),
    Group(
        "elementwise",
        "Elementwise functions",
        "They broadcast, keep the device, and fuse with whatever is around them.",
        (GENERATED, "elementwise", "user_functions"),
    ),
    Group("reductions", "Reductions and scans", "Along an axis, several, or all.", ("reductions",)),
    Group(
        "manipulation",
        "Shapes",
        "Views where a view is possible; nothing is copied to be seen differently.",
        ("manipulation", "protocols.array_methods"),
    ),
    Group(
        "indexing",
        "Indexing and searching",
        "Square brackets take all that NumPy's take; these are the functions beside them.",
        ("indexing",),
    ),
    Group(
        "gradients",
        "Gradients",
        "Functions made of functions: gradients, directional derivatives, rules of your own, many examples at once.",
        ("transformations",),
    ),
    Group(
        "sorting",
        "Sorting, sets, statistics",
        "Orders, distinct values, quantiles and histograms.",
        ("ordering",),
    ),
    Group(
        "numpy",
        "For NumPy users",
        "What programs for NumPy name beside the array standard. [What differs](../numpy.md) is a page of its own.",
        ("numpy_names",),
    ),
    Group(
        "contractions",
        "Products",
        "Contractions of two tensors and more; also by `@`.",
        ("linalg",),
    ),
    Group("linalg", "tfr.linalg", "", module="linalg"),
    Group("fft", "tfr.fft", "", module="fft"),
    Group("random", "tfr.random", "", module="random"),
    Group("nn", "tfr.nn", "", module="nn"),
    Group("functional", "tfr.nn.functional", "", module="nn.functional"),
    Group("init", "tfr.nn.init", "", module="nn.init"),
    Group("models", "tfr.nn.models", "", module="nn.models"),
    Group("optim", "tfr.optim", "", module="optim"),
    Group("quantization", "tfr.quantization", "", module="quantization"),
    Group("sparse", "tfr.sparse", "", module="sparse"),
    Group("special", "tfr.special", "", module="special"),
    Group("schedules", "tfr.optim.schedules", "", module="optim.schedules"),
    Group(
        "dtypes",
        "Dtypes and constants",
        "Where dtypes mix, and what numbers become.",
        (
            "dtypes",
            "protocols.inspection",
            "namespace",
            "tensorframe.dtypes",
        ),
    ),
    Group(
        "files",
        "Files",
        "`.npy`, `.npz`, `.safetensors`, and arrays of other libraries, read when the values are needed.",
        ("files",),
    ),
    Group(
        "raw_kernels",
        "Raw kernels",
        "Operations whose kernels you write. The [guide](../raw_kernels.md) explains.",
        ("raw_kernels",),
    ),
    Group(
        "devices",
        "Devices",
        "Choosing where tensors live. The [guide](../devices.md) explains.",
        (
            "tensorframe.backends",
            "tensorframe.graph.device",
            "diagnostics.doctor",
            "tensorframe.schedule.place",
        ),
    ),
    Group("backends", "tfr.backends", "", module="backends"),
    Group("errors", "tfr.errors", "", module="errors"),
    Group("config", "tfr.config", "", module="config"),
    Group("cache", "tfr.cache", "", module="cache"),
    Group("memory", "tfr.memory", "", module="memory"),
    Group(
        "computing",
        "Computing, looking, measuring",
        "When things run, what will run, what it will cost, what it did cost.",
        results=("schedule.plan.Plan", "notebook.picture.Picture"),
    ),
)

MODULES = {group.module.partition(".")[0] for group in GROUPS} - {""}


def write(folder: Path) -> None:
    """Write all pages; files that would not change are left, so that a second build is quick."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {folder / f"{group.file}.md": page(group) for group in GROUPS}
    pages |= {
        folder / f"{file_of(path)}.md": own_page(group, path, value)
        for group in GROUPS
        for path, value in entries(group)
        if has_page(path, value)
    }
    pages[folder / "index.md"] = contents()
    for path, text in pages.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in set(folder.glob("*.md")) - set(pages):
        path.unlink()


def contents() -> str:
    """The page above the others: every name with its group."""
    lines = [
        "# API reference",
        "",
        f"The {len(public_names())} names of the namespace `tfr` and those of its modules, as they are in the package.",
        "Each example runs with the tests.",
        "",
        "In signatures, `ArrayLike` is a tensor, an array of any library, a number, or numbers in lists or tuples;",
        "`ShapeLike` a size or several; `DTypeLike` a dtype, its name, or a type of Python's or NumPy's; `Axis` and",
        "`Axes` an axis, several in a tuple, or None for all; `OnDevice` a device, its name, or None for the default;",
        "`Backends` one of these or several; `Output` a tensor or an array that takes the result; a `Source` of random",
        "numbers a key, or None for what `tfr.random.seed` restarts.",
        "",
    ]
    for group in GROUPS:
        names = ", ".join(f"{{py:obj}}`~{path}`" for path, _ in entries(group))
        lines += [f"**[{group.title}]({group.file}.md)**: {names}", ""]
    files = "\n".join(group.file for group in GROUPS)
    return "\n".join([*lines, "```{toctree}", ":hidden:", files, "```", ""])


def page(group: Group) -> str:
    """The page of a group: a heading, what the group is, a table of its functions and classes, and its constants."""
    text = group.text
    if group.module:
        text = (
            inspect.getdoc(pkgutil.resolve_name(f"tensorframe.{group.module}")) or ""
        ).partition("\n")[2]
    parts = [f"# {group.title}", "", markdown(text), ""]
    if group.file == "tensor":
        parts += [described_class("tensorframe.Tensor", Tensor)]
        return "\n".join(parts)
    named = entries(group)
    rows = [
        f"| {link(path)} | {summary(value)} |" for path, value in named if has_page(path, value)
    ]
    table = ["| name | what it does |", "|---|---|", *rows, ""] if rows else []
    others = [entry(path, value) for path, value in named if not has_page(path, value)]
    return "\n".join([*parts, *table, *others])


def own_page(group: Group, path: str, value: Any) -> str:
    """The page of one function or class. No list of contents names it: there would be a thousand beside every page."""
    above = f"[{group.title}]({group.file}.md)"
    return "\n".join(
        ["---", "orphan: true", "---", "", f"# {shown(path)}", "", above, "", entry(path, value)]
    )


def has_page(path: str, value: Any) -> bool:
    """Whether a name has a page of its own: each function and each class, where it is described."""
    if isinstance(value, type):
        return (
            not is_scalar_type(value) and homes().get(value, path) == path and value is not Tensor
        )
    return callable(value)


def file_of(path: str) -> str:
    """The file of a name's page; where a function's differs by its case alone, some disks would take them for equal."""
    return f"{path}-class" if path in twins() else path


@cache
def twins() -> frozenset[str]:
    """The names of classes that are written as a function's is but for their case."""
    named = [entry for group in GROUPS for entry in entries(group) if has_page(*entry)]
    functions = {path.lower() for path, value in named if not isinstance(value, type)}
    return frozenset(
        path for path, value in named if isinstance(value, type) and path.lower() in functions
    )


def link(path: str) -> str:
    """A link to the description of a name."""
    return f"{{py:obj}}`{shown(path)} <{path}>`"


def shown(path: str) -> str:
    """A full name as programs write it."""
    return re.sub(r"^tensorframe\.", "tfr.", path)


def summary(value: Any) -> str:
    """The first sentence of a docstring, in a cell of a table."""
    paragraph = " ".join(documentation(value).partition("\n\n")[0].split())
    return re.split(r"(?<=[.]) ", paragraph)[0].replace("|", "\\|")


@cache
def entries(group: Group) -> list[tuple[str, Any]]:
    """The public names of a group, as they are written out in full, with what they name."""
    if group.module:
        module = pkgutil.resolve_name(f"tensorframe.{group.module}")
        return [
            (f"tensorframe.{group.module}.{name}", value)
            for name, value in exported(module)
            if not isinstance(value, types.ModuleType)
        ]
    skipped = {*MODULES, "dtypes", "__version__"}
    mine = [name for name in public_names() if name not in skipped and group_of(name) is group]
    named = [(f"tensorframe.{name}", getattr(tensorframe, name)) for name in mine]
    paths = [f"tensorframe.{path}" for path in group.results]
    return named + [(path, pkgutil.resolve_name(path)) for path in paths]


@cache
def group_of(name: str) -> Group:
    """The group of a name of the namespace: that of the module it is written in."""
    home = written_in(name, getattr(tensorframe, name))
    place = GENERATED if home is None else home[0]
    for group in GROUPS:
        if any(place == home or place.startswith(home + ".") for home in map(in_full, group.homes)):
            return group
    return GROUPS[-1]


def in_full(home: str) -> str:
    """The module that a group names; most are in the frontend."""
    return home if home == GENERATED or home.startswith("tensorframe.") else FRONTEND + home


def entry(path: str, value: Any) -> str:
    """The description of one name."""
    if isinstance(value, type) and not is_scalar_type(value):
        home = homes().get(value, path)
        if home != path:
            return f"**{path.rpartition('.')[2]}**: the same class as {{py:obj}}`{home}`.\n"
        return described_class(path, value)
    if callable(value) and not isinstance(value, type):
        return described_function("function", path, f"{path}{signature(value)}", value)
    if isinstance(value, type):
        return described("attribute", path, f"The dtype of that name: `{value.__name__}`.")
    return described("attribute", path, f"`{value!r}`")


@cache
def homes() -> dict[type, str]:
    """Where each class of ours is described that has several public names: the shortest, errors among the errors."""
    paths = [named for group in GROUPS for named in entries(group)]
    ranked = sorted(paths, key=lambda named: (named[0].count("."), "errors" not in named[0]))
    classes = [(value, path) for path, value in ranked if isinstance(value, type)]
    return {value: path for value, path in reversed(classes) if not is_scalar_type(value)}


def is_scalar_type(value: type) -> bool:
    """Whether a class is there for its name as a dtype."""
    return issubclass(value, np.generic) or value.__module__ in {"ml_dtypes", "builtins"}


def described_class(path: str, value: type) -> str:
    """A class with its public members, in the order of the alphabet."""
    members = dict(inspect.getmembers(value)) if value is Tensor else dict(vars(value))
    ours = value.__module__.startswith("tensorframe")
    public = {name: members[name] for name in sorted(members) if ours and name[0] != "_"}
    fields = field_documentation(value)
    parts = [markdown(documentation(value))]
    if "__init__" in vars(value) and not hasattr(value, "__dataclass_fields__"):
        parts.append(field_list(path, vars(value)["__init__"], ""))
    for name, member in public.items():
        if name in fields or (value is Tensor and name == "node"):
            continue
        if isinstance(member, property):
            parts.append(described("property", name, documentation(member)))
        elif isinstance(member, (types.FunctionType, classmethod, staticmethod)):
            function = member if isinstance(member, types.FunctionType) else member.__func__
            heading = name + signature(function, method=True)
            parts.append(described_function("method", f"{path}.{name}", heading, function))
    parts += [described("attribute", name, text) for name, text in fields.items()]
    kind = "exception" if issubclass(value, BaseException) else "class"
    return described(kind, path, "\n\n".join(parts), ready=True)


def described_function(kind: str, path: str, heading: str, function: Callable[..., Any]) -> str:
    """A function or method: what its docstring says, its parameters, and what else is known of it."""
    text = documentation(function)
    return described(
        kind,
        heading,
        f"{markdown(prose_of(text))}\n\n{field_list(path, function, text)}",
        ready=True,
    )


def field_documentation(value: type) -> dict[str, str]:
    """The annotated public fields of a class, each with the string that stands below it, if any does."""
    if issubclass(value, enum.Enum) or value is Tensor:
        return {}
    try:
        (statement,) = ast.parse(textwrap.dedent(inspect.getsource(value))).body
    except (OSError, TypeError, ValueError):
        return {}
    texts: dict[str, str] = {}
    body = getattr(statement, "body", [])
    for field, following in zip(body, [*body[1:], None], strict=True):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and field.target.id[0] != "_"
        ):
            is_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            text = (
                str(following.value.value)
                if is_text
                else option_documentation(value, field.target.id)
            )
            texts[field.target.id] = f"`{ast.unparse(field.annotation)}`. {text}".rstrip()
    return texts


def option_documentation(value: type, name: str) -> str:
    """What a dataclass keeps with a field about it."""
    field = getattr(value, "__dataclass_fields__", {}).get(name)
    return str(field.metadata.get("doc", "")) if field else ""


def signature(function: Callable[..., Any], *, method: bool = False) -> str:
    """The arguments with their types, the operand of a method left out; what has none to read is called anyhow."""
    try:
        text = signature_text(function, method=method)
    except (TypeError, ValueError):
        return "(...)"
    text = re.sub(r"^\(self(?:, /)?(?:, )?", "(", text) if method else text
    return text.replace("npt.NDArray[Any]", "np.ndarray")


def documentation(value: Any) -> str:
    """The docstring, if it is the value's own; what is NumPy's is described by NumPy."""
    if isinstance(value, type) and value.__doc__ is None:
        return ""
    if (getattr(value, "__module__", None) or "").partition(".")[0] == "numpy":
        name = f"numpy.{getattr(value, '__name__', '')}"
        return f"NumPy's own [{name}]({NUMPY.format(name)}), for programs that name it."
    return as_written(value)


def described(kind: str, heading: str, text: str, *, ready: bool = False) -> str:
    """An entry of the reference, which others can point at."""
    body = text if ready else markdown(text)
    fence = ":" * (4 if kind in {"class", "exception"} else 3)
    return f"{fence}{{py:{kind}}} {heading}\n\n{body}\n{fence}\n"


def markdown(docstring: str) -> str:
    """A docstring as Markdown: its examples become blocks of code."""
    parts = []
    for is_example, lines in blocks(docstring):
        text = "\n".join(lines).strip("\n")
        parts.append(f"```pycon\n{text.replace('<BLANKLINE>', '')}\n```" if is_example else text)
    return "\n\n".join(part for part in parts if part)


def blocks(docstring: str) -> Iterator[tuple[bool, list[str]]]:
    """Paragraphs and examples in turn; an example ends at an empty line that no prompt follows."""
    lines, kept, example = docstring.splitlines(), list[str](), False
    for index, line in enumerate(lines):
        starts = line.startswith(">>>")
        following = lines[index + 1] if index + 1 < len(lines) else ""
        ends = example and not line.strip() and not following.startswith(">>>")
        if (starts and not example) or ends:
            yield example, kept
            kept, example = [], starts
        kept.append(line)
    yield example, kept
