"""Tables of special functions: what their derivation prints, and the pairs of floats that some are added up in."""

import importlib.util
from pathlib import Path

import mpmath as mp
import numpy as np

import tensorframe as tfr
from tensorframe.graph.op import Kind
from tensorframe.ops import special as rows
from tensorframe.ops import special_tables as tables
from tensorframe.ops.special_incomplete import FORMULAS as INCOMPLETE
from tensorframe.ops.special_math import FORMULAS
from tensorframe.ops.special_zeta import FORMULAS as ZETA


def farthest(high, low, exact):
    """The largest relative error of pairs."""
    found = [mp.mpf(one) + mp.mpf(rest) for one, rest in zip(high, low, strict=True)]
    return max(abs(one / value - 1) for one, value in zip(found, exact, strict=True))


def test_pairs_of_floats_have_twice_the_bits():
    from tensorframe.backends.numpy import special_functions
    from tensorframe.ops import double_double as dd

    algebra = special_functions._WIDE

    generator = np.random.default_rng(8)
    x = generator.uniform(0.5, 1e3, 50)
    turns = generator.uniform(-0.5, 0.5, 50)
    with mp.workdps(60):
        for (high, low), exact in (
            (dd.log((x, x * 1e-17), algebra), [mp.log(mp.mpf(v) + mp.mpf(v * 1e-17)) for v in x]),
            (dd.cotangent(turns, algebra, np.where), [mp.cot(mp.pi * mp.mpf(v)) for v in turns]),
            (
                dd.divide(dd.PI, (x, x * 1e-17), algebra),
                [mp.pi / (mp.mpf(v) + mp.mpf(v * 1e-17)) for v in x],
            ),
            (
                dd.log_ratio((x, x * 0), (x + turns, x * 0), dd.two_sum(x, -(x + turns)), algebra),
                [mp.log(mp.mpf(v) / mp.mpf(w)) for v, w in zip(x, x + turns, strict=True)],
            ),
            (dd.sqrt((x, x * 1e-17), algebra), [mp.sqrt(mp.mpf(v) + mp.mpf(v * 1e-17)) for v in x]),
        ):
            assert farthest(high, low, exact) < 1e-30
        # of these the first digits alone matter beside other pairs
        for function, exact in ((dd.exp, mp.exp), (dd.expm1, mp.expm1)):
            for power in (x / 2, -x / 2, turns, turns * 1e-9):
                high, low = function((power, power * 1e-17), algebra)
                values = [exact(mp.mpf(v) + mp.mpf(v * 1e-17)) for v in power]
                assert farthest(high, low, values) < 6e-17


def test_every_row_with_a_table_has_a_function_and_a_formula():
    named = {
        op.name for op in vars(rows).values() if getattr(op, "kind", None) is Kind.MAP and op.double
    }
    assert named == {*FORMULAS, *INCOMPLETE, *ZETA}
    assert named - {"riemann_zeta"} <= set(tfr.special.__all__)


def test_tables_are_those_that_their_derivation_prints():
    """Two of them, which stand for all: `python docs/derive/special.py` prints the module."""
    source = Path(__file__).parents[2] / "docs" / "derive" / "special.py"
    specification = importlib.util.spec_from_file_location("derive_special", source)
    derive = importlib.util.module_from_spec(specification)
    precision = mp.mp.dps
    try:
        specification.loader.exec_module(derive)
        for piece in derive.PIECES:
            if piece.name in ("STIRLING", "GAMMA"):
                interval, known = getattr(tables, piece.name)
                assert interval == (piece.low, piece.high)
                assert tuple(derive.coefficients(piece)) == known
                assert derive.largest_error(piece, list(known)) < 1e-16
        assert tuple(derive.balance(5, 11)) == tables.BALANCE[1]
    finally:
        mp.mp.dps = precision
    assert {piece.name for piece in derive.PIECES} <= set(vars(tables))
    # all of Taylor's coefficients take mpmath a minute: their sums are exact, and two of them are known
    assert len(tables.RECIPROCAL_GAMMA) == 34
    with mp.workdps(40):
        known = [mp.mpf(high) + mp.mpf(low) for high, low in tables.RECIPROCAL_GAMMA]
        for z in (-0.5, -0.25, 0.125, 0.5):
            total = mp.fsum([c * mp.mpf(z) ** k for k, c in enumerate(reversed(known))])
            assert abs(total * mp.gamma(2 + mp.mpf(z)) - 1) < 1e-31
        assert known[-1] == 1
        assert abs(known[-2] - (mp.euler - 1)) < 1e-32
