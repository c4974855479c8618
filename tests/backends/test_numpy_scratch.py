"""The table of modules that say what NumPy's functions take: no other is imported for a row."""

import pytest

from tensorframe.backends.numpy.scratch.calls import MODULES, estimates
from tensorframe.graph.op import rows


@pytest.mark.parametrize("module", sorted(set(MODULES.values())))
def test_every_estimate_is_in_the_table(module):
    assert set(estimates(module)) == {row for row, home in MODULES.items() if home == module}


def test_every_name_in_the_table_is_a_row():
    assert {row for row in MODULES if isinstance(row, str)} <= {op.name for op in rows()}
