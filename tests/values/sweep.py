"""The sweep: what of the table does not agree with NumPy, on the device and with the options in force."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from tensorframe.dtypes import DType
from tests.values.agreement import Mismatch, mismatches
from tests.values.cases import Case
from tests.values.table import TABLE, explained

SHOWN = 3

# what has a formula of its own for NaN, infinities or zeros, which a plan may rewrite and a kernel compute otherwise
PLANNED = (
    *("clip", "nan_to_num", "isclose", "heaviside", "sinc", "softmax", "logsumexp", "mean", "var"),
    *("nanvar", "nanmean", "nanmax", "nanargmin", "average", "cumulative_sum", "median"),
    *("quantile", "nanmedian", "diff", "trapezoid", "gradient", "cov", "interp", "tril"),
)
# few of these: each is kernels that some devices take seconds to build
COMPILED = ("nan_to_num", "isclose", "sinc", "logsumexp", "nanvar", "nanmax", "median", "gradient")


def found_in(
    name: str, dtypes: Iterable[DType], *, few: bool = False, planned: bool = False
) -> list[str]:
    """Return, for a function, calls that do not agree with NumPy, and how; `few` makes the first with one array.

    `planned` says that plans run, which may leave ops out.
    """
    return [
        f"{name}, call {place}, {dtype}: {_operands(found)}: {found.words}"
        for place, case in enumerate(TABLE[name][: 1 if few else None])
        for dtype in dtypes
        if dtype in case.dtypes
        for found in islice(_unexplained(name, case._replace(parts=not planned), dtype, few), SHOWN)
    ]


def _unexplained(name: str, case: Case, dtype: DType, few: bool) -> Iterator[Mismatch]:
    return (one for one in mismatches(case, dtype, largest=few) if not explained(name, one))


def _operands(found: Mismatch) -> str:
    return ", ".join(
        f"{array.dtype}{list(array.shape)} {array.tolist() if array.size < 10 else ''}".rstrip()
        for array in found.arguments
    )
