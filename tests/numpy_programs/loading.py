"""The programs, with the library that they import in NumPy's place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "programs"
PROGRAMS = sorted(path.stem for path in _FOLDER.glob("*.py"))


def load(program: str, package: str) -> Callable[[], dict[str, Any]]:
    """Return the `main` of a program, where `np` is a package."""
    path = _FOLDER / f"{program}.py"
    source = path.read_text(encoding="utf-8")
    assert source.count("\nimport numpy as np\n") == 1
    source = source.replace("\nimport numpy as np\n", f"\nimport {package} as np\n")
    names: dict[str, Any] = {"__name__": program}
    exec(compile(source, str(path), "exec"), names)  # programs are ours
    main: Callable[[], dict[str, Any]] = names["main"]
    return main
