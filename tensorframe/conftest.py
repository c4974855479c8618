"""Names that the examples in docstrings may use without importing them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tensorframe as tfr


@pytest.fixture(autouse=True)
def doctest_names(doctest_namespace: dict[str, object]) -> None:
    """Adds `tfr`, `np` and `math` to the namespace of every doctest of the package."""
    doctest_namespace.update(tfr=tfr, np=np, math=math)
