"""Every form of kernel on small operands: the sizes from which loops are cut up, made as small as they can be."""

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from tensorframe.kernel.forms import builder, columns, pieces, reductions, rows
from tensorframe.kernel.forms import tiles as tiling
from tensorframe.kernel.ir import order
from tensorframe.machine import HOST
from tensorframe.runtime.plan_cache import PLANS
from tensorframe.schedule.fusion import admission, merge

SMALL = {
    builder: {"SHARE": 4},
    reductions: {
        "_CHUNK": 6,
        "_COLUMN_CHUNK": 6,
        "_COLUMNS": 3,
        "HOST": HOST._replace(units=5, columns=3),
    },
    columns: {"GROUP": 2},
    pieces: {"GROUP": 2},
    order: {"PIECE": 9, "GROUP": 6, "LANES": 4, "TAIL": 2},
    rows: {"_LOOK": 4, "_SOON": (1, 4096)},
    tiling: {"_SIDE": 4, "_AREA": 8, "_NARROW": 3},
    merge: {"_WORTH_SHARING": 0},
    admission: {"_SMALL_PART": 1 << 40},
}


@contextmanager
def small_blocks():
    """Cut up the loops of what is planned meanwhile, and let it share data however little that is."""
    with ExitStack() as stack:
        for module, values in SMALL.items():
            stack.enter_context(patch.multiple(module, **values))
        PLANS.clear()
        stack.callback(PLANS.clear)
        yield
