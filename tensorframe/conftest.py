"""Names that the examples in docstrings may use without importing them."""

from __future__ import annotations

import builtins
import math
from pathlib import Path

import numpy as np
import pytest

import tensorframe as tfr


@pytest.fixture(autouse=True)
def doctest_names(doctest_namespace: dict[str, object], tmp_path: Path) -> None:
    """Adds `tfr`, `np`, `math` and `folder` (an empty one) to the namespace of every doctest of the package.

    Python's own names too, which the package has others of: users do not star-import it.
    """
    own = {name: value for name, value in vars(builtins).items() if not name.startswith("_")}
    doctest_namespace.update(own, tfr=tfr, np=np, math=math, folder=tmp_path)
