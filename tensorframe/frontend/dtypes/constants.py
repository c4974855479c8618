"""Constants of the namespace: e, pi, inf, nan and newaxis."""

from __future__ import annotations

import math
from typing import Final

e: Final = math.e
inf: Final = math.inf
nan: Final = math.nan
newaxis: Final = None
pi: Final = math.pi

__all__ = ["e", "inf", "nan", "newaxis", "pi"]
