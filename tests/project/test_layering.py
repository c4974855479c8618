"""Imports inside the package go one way, and optional packages stay where they belong."""

import ast
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tensorframe"

# Data passes through these from left to right; a layer may import itself and those before it.
LAYERS = (
    ("cells",),
    ("site",),
    ("variables",),
    ("forks",),
    ("cached",),
    ("digests",),
    ("quick_tuples",),
    ("quick_dataclasses",),
    ("errors",),
    ("documentation",),
    ("scopes",),
    ("formats",),
    ("dtypes",),
    ("machine",),
    ("options",),
    ("config",),
    ("graph",),
    ("ops",),
    ("rewrite",),
    ("files",),
    ("transform",),
    ("kernel",),
    ("codegen",),
    ("backends",),
    ("schedule",),
    ("runtime",),
    ("frontend",),
    ("extensions",),
    ("sparse",),
    ("nn",),
    ("optim",),
    ("notebook",),
)
# The same inside kernel/, whose folders are its layers.
KERNEL = ("ir", "math", "spaces", "nest", "forms", "groups", "build")
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# Names of one module from which a list of them says no more than the module's name does.
MANY = 7
ABOVE_ALL = {"testing", "conftest", "__init__", "__main__"}
KNOWS_TENSOR = {
    "documentation",
    "frontend",
    "extensions",
    "sparse",
    "nn",
    "optim",
    "notebook",
} | ABOVE_ALL
# Loaded when they are named, hence after the namespace, which they may be written in.
WRITTEN_IN_THE_NAMESPACE = {"nn", "optim"}

# What a block of a result needs is plain data; streaming, in runtime/, and tasks on clusters run by it.
TILES = ("tensorframe.schedule.tiles", "tensorframe.schedule.blocks")
CLUSTERS = PACKAGE / "backends" / "dask"

# Locks are free in forked processes where `forks.py` makes them; that of functools' property is not, in Python 3.11.
LOCKS = {"Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore"}

# Each belongs to one backend and is imported nowhere else, not even inside a function.
BACKEND_LIBRARIES = {
    "numba",
    "llvmlite",
    "cupy",
    "cupyx",
    "pyopencl",
    "wgpu",
    "dask",
    "distributed",
}
# What a module outside backends/<name>/ and testing/ may import when it is loaded.
AT_IMPORT_TIME = set(sys.stdlib_module_names) | {"numpy", "ml_dtypes", "tensorframe"}


@dataclass(frozen=True)
class Import:
    """One imported name: its place, what it names and when it happens."""

    path: Path
    line: int
    target: str
    when_loaded: bool

    @property
    def layer(self):
        """The part of the package that imports."""
        return layer_of(self.path)

    @property
    def top(self):
        """The top-level module that is imported."""
        return self.target.partition(".")[0]

    def __str__(self):
        return f"{self.path.relative_to(ROOT)}:{self.line} imports {self.target}"


def layer_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py").removesuffix(".pyi")


def imports_of(path):
    yield from walk(ast.parse(path.read_text(encoding="utf-8")), path, when_loaded=True)


def walk(tree, path, *, when_loaded):
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for target in targets_of(node, path):
                yield Import(path, node.lineno, target, when_loaded)
        else:
            yield from walk(node, path, when_loaded=when_loaded and not waits(node))


def waits(node):
    """Whether what is inside is not run when the module is loaded."""
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))


def targets_of(node, path):
    """Dotted names that an import statement may load, relative ones made absolute."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        package = path.relative_to(ROOT).with_suffix("").parts[: -node.level]
        base = ".".join((*package, *filter(None, [node.module])))
    return [f"{base}.{alias.name}" for alias in node.names]


MODULES = sorted(PACKAGE.rglob("*.py"))
IMPORTS = [statement for path in MODULES for statement in imports_of(path)]
INSIDE = [
    statement
    for statement in IMPORTS
    if statement.top == "tensorframe" and statement.layer not in ABOVE_ALL
]


def says(offenders):
    return "\n".join(str(offender) for offender in offenders)


FOLDERS = sorted(
    path.parent.relative_to(PACKAGE).as_posix()
    for path in MODULES
    if path.name == "__init__.py" and path.parent != PACKAGE
)


def inside(folder):
    """An import of each pair of neighbours in a folder: modules and folders of it, but what gathers all of them."""
    start, prefix = PACKAGE / folder, f"tensorframe.{folder.replace('/', '.')}."
    here = {path.name.removesuffix(".py") for path in start.iterdir()} - {"__init__"}
    neighbours = {}
    for statement in IMPORTS:
        if (
            statement.when_loaded
            and statement.target.startswith(prefix)
            and start in statement.path.parents
        ):
            own = statement.path.relative_to(start).parts[0].removesuffix(".py")
            other = statement.target.removeprefix(prefix).partition(".")[0]
            if own != other and {own, other} <= here:
                neighbours[own, other] = statement
    return neighbours


def in_one_backend(path):
    parts = path.relative_to(PACKAGE).parts
    return parts[0] == "backends" and len(parts) > 2


def test_every_part_of_the_package_has_a_layer():
    names = {layer_of(path) for path in MODULES}
    assert names - set(RANK) - ABOVE_ALL == set()


def test_imports_go_one_way():
    def allowed(statement):
        if statement.target == "tensorframe":
            # a tensor answers which namespace it belongs to: asked after everything is loaded
            return statement.layer in WRITTEN_IN_THE_NAMESPACE or (
                statement.layer in KNOWS_TENSOR and not statement.when_loaded
            )
        if statement.path.is_relative_to(CLUSTERS) and statement.target.startswith(TILES):
            return True
        layer = statement.target.split(".")[1]
        return RANK.get(layer, len(LAYERS)) <= RANK[statement.layer]

    assert not (wrong := [statement for statement in INSIDE if not allowed(statement)]), says(wrong)


def test_imports_inside_kernel_go_one_way():
    rank = {name: index for index, name in enumerate(KERNEL)}
    neighbours = inside("kernel")
    assert {name for pair in neighbours for name in pair} == set(rank)
    wrong = [statement for (a, b), statement in neighbours.items() if rank[b] > rank[a]]
    assert not wrong, says(wrong)


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_inside_a_folder_form_no_circle(folder):
    """Of modules, and of folders in it, as they are loaded."""
    neighbours = inside(folder)
    left = {name for pair in neighbours for name in pair}
    while left:
        # whoever imports nobody that is left is in no circle, nor is who is imported by nobody
        importing = {a for a, b in neighbours if {a, b} <= left}
        imported = {b for a, b in neighbours if {a, b} <= left}
        if left == importing & imported:
            break
        left = importing & imported
    wrong = [statement for (a, b), statement in neighbours.items() if {a, b} <= left]
    assert not left, says(wrong)


def test_what_takes_many_names_of_the_kernel_language_takes_its_name():
    """`from tensorframe.kernel import ir` then, instead of a list that is longer than what it serves."""
    modules = ("", ".language", ".expressions", ".statements")
    homes = [f"tensorframe.kernel.ir{module}" for module in modules]
    taken = Counter(
        statement.path for statement in INSIDE if statement.target.rpartition(".")[0] in homes
    )
    assert {path for path, count in taken.items() if count > MANY} == set()


def test_no_module_asks_its_own_folder_for_what_that_gathers():
    """What `__init__` takes from modules is theirs: they would be half loaded when they imported it."""
    wrong = []
    for statement in IMPORTS:
        folder = statement.path.parent
        own = ".".join(folder.relative_to(ROOT).parts)
        name = statement.target.removeprefix(f"{own}.")
        inside = statement.when_loaded and statement.target == f"{own}.{name}" and "." not in name
        is_module = (folder / name).is_dir() or (folder / f"{name}.py").exists()
        if inside and not is_module and statement.path.name not in ("__init__.py", "__main__.py"):
            wrong.append(statement)
    assert not wrong, says(wrong)


def test_only_the_frontend_and_what_stands_above_it_know_tensor():
    wrong = [
        statement
        for statement in IMPORTS
        if statement.target.endswith(".Tensor") and statement.layer not in KNOWS_TENSOR
    ]
    assert not wrong, says(wrong)


def test_backend_libraries_are_imported_only_by_their_backend():
    wrong = [
        statement
        for statement in IMPORTS
        if statement.top in BACKEND_LIBRARIES
        and not in_one_backend(statement.path)
        and statement.layer != "testing"
    ]
    assert not wrong, says(wrong)


def test_numba_is_imported_by_functions_of_users_only():
    """Kernels are printed for LLVM; Numba is for functions that users write, when the first of them needs it."""
    homes = [PACKAGE / "backends" / "llvm" / name for name in ("user.py", "raw.py")]
    # loaded when Numba asks for the type of a tensor
    homes.append(arguments := PACKAGE / "backends" / "llvm" / "numba_arguments.py")
    wrong = [
        statement
        for statement in IMPORTS
        if statement.top == "numba"
        and (statement.path not in homes or (statement.when_loaded and statement.path != arguments))
    ]
    assert not wrong, says(wrong)


def test_one_backend_does_not_import_another():
    """But those of the host, which share its arrays, and those of devices, which share what all devices do."""
    builds_on = {"llvm": {"numpy"}, "cpu": {"numpy", "llvm"}, "device": {"numpy"}}
    builds_on["dask"] = {"cpu", "numpy"}  # its tasks are theirs
    builds_on |= {name: {"device"} for name in ("opencl", "wgpu", "cuda")}

    def backend(parts):
        return parts[1] if len(parts) > 2 and parts[0] == "backends" else None

    names = {path.name for path in (PACKAGE / "backends").iterdir() if path.is_dir()}
    wrong = []
    for statement in INSIDE:
        own = backend(statement.path.relative_to(PACKAGE).parts)
        other = backend((*statement.target.split(".")[1:], ""))
        if own is not None and other in names - {own, *builds_on.get(own, ())}:
            wrong.append(statement)
    assert not wrong, says(wrong)


def test_loading_a_module_imports_nothing_optional():
    wrong = [
        statement
        for statement in IMPORTS
        if statement.when_loaded
        and statement.top not in AT_IMPORT_TIME
        and statement.layer not in ("testing", "conftest")
        and not in_one_backend(statement.path)
    ]
    assert not wrong, says(wrong)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import numba", [("numba", True)]),
        ("def f():\n    import numba.core", [("numba.core", False)]),
        ("if TYPE_CHECKING:\n    import cupy", [("cupy", False)]),
        ("try:\n    import cupy\nexcept ImportError:\n    pass", [("cupy", True)]),
        ("class C:\n    from a.b import c", [("a.b.c", True)]),
        ("from ..graph import node", [("tensorframe.graph.node", True)]),
        ("from . import shape", [("tensorframe.ops.shape", True)]),
    ],
)
def test_the_reader_of_imports_sees(source, expected):
    path = PACKAGE / "ops" / "example.py"
    statements = walk(ast.parse(source), path, when_loaded=True)
    assert [(statement.target, statement.when_loaded) for statement in statements] == expected


def test_locks_are_made_where_forks_know_of_them():
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        if layer_of(path) not in ("forks", "testing")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if makes_a_lock(node)
    ]
    assert not wrong


def makes_a_lock(node):
    if isinstance(node, ast.ImportFrom):
        names = {name.name for name in node.names}
        locks = node.module == "threading" and names & LOCKS
        return bool(locks) or (node.module == "functools" and "cached_property" in names)
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in {("threading", name) for name in LOCKS}
    )
