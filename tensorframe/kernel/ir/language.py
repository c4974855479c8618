"""Kernel IR: loops over typed scalar expressions, from which every dialect prints its text.

Six kinds of expression (`Literal`, `Argument`, `Index`, `Variable`, `Load`, `Apply`: `expressions.py`) and thirteen of
statement (`Let`, `Set`, `Store`, `Loop`, `If`, `Allocate`, `StreamingStore`, `Prefetch`, and, among the threads of a
work-group, `Combine`, `Barrier`, `CopyNeighbours`, `ReadNeighbours` and `MultiplyTiles`: `statements.py`), in a
`Kernel`. `interpret.py` defines what they mean.
"""

from tensorframe.kernel.ir.expressions import *  # noqa: F403
from tensorframe.kernel.ir.statements import *  # noqa: F403
