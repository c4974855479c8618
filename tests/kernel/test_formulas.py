"""The table of formulas says in which module each of them is written, since a plan imports none of these."""

from importlib import import_module
from pkgutil import iter_modules

from tensorframe.kernel import math
from tensorframe.kernel.math.registry import FORMULAS, HOMES, formula_of, has_formula


def test_the_table_says_where_each_formula_is_registered():
    for module in iter_modules(math.__path__, f"{math.__name__}."):
        import_module(module.name)
    written = {name: function.__module__ for name, function in FORMULAS.items()}
    assert written == {name: f"{math.__name__}.{module}" for name, module in HOMES.items()}


def test_what_is_no_formula_has_none():
    assert not has_formula("add")
    assert formula_of("add") is None
