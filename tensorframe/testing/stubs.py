"""Stubs: type information for the names that op rows and decorators add at import, where checkers cannot see them.

Three modules exist for their stubs alone, so that no real code hides behind one: `tensorframe/__init__.py` (the public
names), `tensorframe/frontend/methods.py` and `tensorframe/schedule/plan_methods.py` (the base classes of Tensor and
Plan, empty at run time). After a public function, an
operator or a method is added or changed, run

    python -m tensorframe.testing.stubs
"""

from __future__ import annotations

import ast
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_overloads

import tensorframe
from tensorframe.frontend.tensor import Tensor
from tensorframe.schedule.plan import Plan

PACKAGE = Path(tensorframe.__file__).parent
NAMESPACE_STUB = PACKAGE / "__init__.pyi"
METHODS_STUB = PACKAGE / "frontend" / "methods.pyi"
PLAN_METHODS_STUB = PACKAGE / "schedule" / "plan_methods.pyi"

HEADER = '"""Written by `python -m tensorframe.testing.stubs`; do not edit."""\n'

UNARY = ["neg", "pos", "abs", "invert"]
ARITHMETIC = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "divmod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
]
EQUALITY = ["eq", "ne"]
ORDER = ["lt", "le", "gt", "ge"]

# What python's own data model says about operators, whatever the functions behind them look like.
OPERATORS = {
    **{f"__{name}__": "(self) -> Tensor" for name in UNARY},
    **{
        f"__{prefix}{name}__": "(self, other: ArrayLike, /) -> Tensor"
        for prefix in ("", "r", "i")
        for name in ARITHMETIC
    },
    **{f"__{name}__": "(self, other: ArrayLike, /) -> Tensor" for name in ORDER},
    **{f"__{name}__": "(self, other: object, /) -> Tensor" for name in EQUALITY},
}
# what the signatures of generated functions name
ANNOTATIONS = {
    "Any": "typing",
    "ArrayLike": "tensorframe.frontend.array_like",
    "Casting": "tensorframe.frontend.dtypes.casting",
    "DTypeLike": "tensorframe.dtypes",
    "Literal": "typing",
    "Output": "tensorframe.frontend.outputs",
}
# `object` declares these as giving bool
IGNORED = {f"__{name}__": "  # type: ignore[override]" for name in EQUALITY}


def stubs() -> dict[Path, str]:
    """Return the text of every stub file of the package."""
    return {
        NAMESPACE_STUB: namespace_stub(),
        METHODS_STUB: methods_stub(),
        PLAN_METHODS_STUB: plan_methods_stub(),
    }


def namespace_stub() -> str:
    """Return the public names: imported from where they are written, spelled out where they are generated."""
    imports, generated = [], []
    # all of them first: some load the module that they are written in
    values = {name: getattr(tensorframe, name) for name in public_names()}
    for name, value in values.items():
        home = written_in(name, value)
        if home is not None:
            module, original = home
            imports.append(f"from {module} import {original} as {name}")
        elif callable(value):
            generated.append(f"def {name}{signature_text(value)}:{body(value, '    ')}")
        else:
            generated.append(f"{name}: {type(value).__name__}")
    imports += [f"from {module} import {name}" for name, module in ANNOTATIONS.items()]
    return "\n".join([HEADER, *sorted(imports), "", "__all__: list[str]", *generated, ""])


def public_names() -> list[str]:
    """Return the names that users may rely on, in order."""
    return sorted({*tensorframe.__all__, "__version__"})


def methods_stub() -> str:
    """Return the base class of Tensor with every method that is attached to Tensor after its class statement."""
    attached = dict(attached_members(Tensor))
    imports = {
        "from typing import Any, overload",
        "from tensorframe.frontend.array_like import ArrayLike",
        f"from {Tensor.__module__} import Tensor",
    }
    for value in attached.values():
        imports |= imports_of_annotations(function_of(value))
    members = [member(name, value) for name, value in attached.items()]
    return "\n".join(
        [
            HEADER,
            *sorted(imports),
            "",
            "class TensorMethods:",
            *members,
            "",
        ]
    )


def plan_methods_stub() -> str:
    """Return the base class of Plan with what is attached to Plan after its class statement."""
    # what `dataclass` wrote is of the plan's own module
    attached = {
        name: value
        for name, value in attached_members(Plan)
        if function_of(value).__module__ != Plan.__module__
    }
    imports: set[str] = set()
    for value in attached.values():
        imports |= imports_of_annotations(function_of(value))
    members = [member(name, value) for name, value in attached.items()]
    return "\n".join([HEADER, *sorted(imports), "", "class PlanMethods:", *members, ""])


def attached_members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the functions and properties of a class that its class statement does not show."""
    source = sys.modules[kind.__module__]
    statements = class_statement(source, kind.__name__).body
    shown = {name for statement in statements for name in bound_names(statement)}
    for name, value in sorted(vars(kind).items()):
        if name not in shown and isinstance(value, (types.FunctionType, property)):
            yield name, value


def class_statement(module: types.ModuleType, name: str) -> ast.ClassDef:
    """Return the class statement of `name` in the source of `module`."""
    (statement,) = (
        statement
        for statement in tree(module).body
        if isinstance(statement, ast.ClassDef) and statement.name == name
    )
    return statement


def member(name: str, value: Any) -> str:
    """Return one method or property as it stands in a stub."""
    if isinstance(value, property):
        signature = inspect.signature(function_of(value))
        result = annotation_text(signature.return_annotation, "Tensor")
        return f"    @property\n    def {name}(self) -> {result}:{body(value, ' ' * 8)}"
    overloads = get_overloads(value)
    if overloads:
        texts = [signature_text(overload, method=True) for overload in overloads]
        return "\n".join(
            f"    @overload\n    def {name}{text}:{body(value, ' ' * 8)}" for text in texts
        )
    text = OPERATORS.get(name) or signature_text(value, method=True)
    return f"    def {name}{text}:{body(value, ' ' * 8, IGNORED.get(name, ''))}"


def function_of(value: Any) -> Callable[..., Any]:
    """Return the function behind a method or a property."""
    function = value.fget if isinstance(value, property) else value
    assert callable(function)
    return function


def signature_text(function: Callable[..., Any], *, method: bool = False) -> str:
    """Return the live signature; what has no annotation is an operand, and a result is a Tensor."""
    signature = inspect.signature(function)
    parameters = []
    for position, parameter in enumerate(signature.parameters.values()):
        if method and position == 0:
            parameters.append(parameter.replace(name="self", annotation=inspect.Parameter.empty))
            continue
        annotation = annotation_text(parameter.annotation, "ArrayLike")
        default = parameter.default
        if default is not inspect.Parameter.empty:
            default = Verbatim(repr(default) if is_literal(default) else "...")
        parameters.append(parameter.replace(annotation=Verbatim(annotation), default=default))
    result = annotation_text(signature.return_annotation, "Tensor")
    return str(signature.replace(parameters=parameters, return_annotation=Verbatim(result)))


class Verbatim:
    """Text that `inspect` prints as it is, without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def is_literal(value: object) -> bool:
    """Whether `repr` of a default value is Python that a stub may contain."""
    return value is None or type(value) in (bool, int, float, str)


def annotation_text(annotation: Any, default: str) -> str:
    """Return an annotation as written in the source, or `default` where there is none."""
    if annotation is inspect.Signature.empty:
        return default
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def body(value: Any, indent: str, comment: str = "") -> str:
    """Return the first line of the documentation as a function's body, or `...`."""
    summary = (inspect.getdoc(value) or "").partition("\n")[0]
    if not summary:
        return f" ...{comment}"
    return f'{comment}\n{indent}"""{summary}"""'.replace("\\", "\\\\")


def imports_of_annotations(function: Callable[..., Any]) -> set[str]:
    """Return the import statements for the names in the annotations of `function`, and of its overloads."""
    annotations: list[Any] = []
    for overload in (function, *get_overloads(function)):
        signature = inspect.signature(overload)
        annotations += [parameter.annotation for parameter in signature.parameters.values()]
        annotations.append(signature.return_annotation)
    texts = [text for text in annotations if isinstance(text, str)]
    names = {
        node.id
        for text in texts
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Name)
    }
    module = sys.modules[inspect.unwrap(function).__globals__["__name__"]]
    bindings = top_level(module)
    return {bindings[name] for name in names if name in bindings}


@cache
def top_level(module: types.ModuleType) -> dict[str, str]:
    """Return, for each name at the top of a module, the statement that imports it elsewhere."""
    statements = {}
    for statement in flattened(tree(module).body):
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                statements[alias.asname or alias.name] = ast.unparse(ast.Import([alias]))
        elif isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                statements[alias.asname or alias.name] = ast.unparse(
                    ast.ImportFrom(statement.module, [alias], statement.level)
                )
        else:
            for name in bound_names(statement):
                statements[name] = f"from {module.__name__} import {name}"
    return statements


def flattened(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, those under `if TYPE_CHECKING:` too."""
    for statement in statements:
        if isinstance(statement, ast.If):
            yield from flattened(statement.body)
        else:
            yield statement


def bound_names(statement: ast.stmt) -> list[str]:
    """Return the names that a definition or assignment binds."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, ast.AnnAssign):
        return [statement.target.id] if isinstance(statement.target, ast.Name) else []
    if isinstance(statement, ast.Assign):
        targets = [node for target in statement.targets for node in ast.walk(target)]
        return [target.id for target in targets if isinstance(target, ast.Name)]
    return []


def written_in(name: str, value: Any) -> tuple[str, str] | None:
    """Return the module, and the name there, whose source defines a public value; None for what is generated."""
    if isinstance(value, types.ModuleType):
        package, _, last = value.__name__.rpartition(".")
        return package, last
    # for users, some take more than is written
    written = list(_unwrapped(value))
    # another name for a function or class keeps the name it was defined by; constants may be equal by chance
    for candidate in (name, getattr(value, "__name__", name)):
        for module in modules():
            if candidate in definitions(module) and any(
                getattr(module, candidate) is each for each in written
            ):
                return module.__name__, candidate
    return None


def _unwrapped(value: Any) -> Iterator[Any]:
    """Yield a public value, and what it wraps."""
    yield value
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
        yield value


@cache
def modules() -> tuple[types.ModuleType, ...]:
    """Return the loaded modules that public names may come from, those of the frontend first."""
    for name in public_names():
        getattr(tensorframe, name)  # some are loaded when they are named
    names = [name for name in sys.modules if name.startswith("tensorframe.")]
    names.sort(key=lambda name: (not name.startswith("tensorframe.frontend."), name))
    return tuple(sys.modules[name] for name in names if not name.startswith("tensorframe.testing"))


@cache
def definitions(module: types.ModuleType) -> frozenset[str]:
    """Return the names that a module's own source defines at its top."""
    statements = flattened(tree(module).body)
    return frozenset(name for statement in statements for name in bound_names(statement))


@cache
def tree(module: types.ModuleType) -> ast.Module:
    """Return the parsed source of a module."""
    return ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))


def main() -> None:
    """Write the stub files that are not up to date."""
    for path, text in stubs().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{path.relative_to(PACKAGE.parent)} written\n")


if __name__ == "__main__":
    main()
