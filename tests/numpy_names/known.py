"""Which of NumPy's documented examples give something else here, and why: read one by one, and complete.

Each line is a function and the beginnings of its examples, separated by ` | `.
"""

from __future__ import annotations

KNOWN = {
    "slices are values: writing to `a[0]`, `fliplr(a)` or `einsum('ii->i', a)` changes nothing else": """
        einsum: a
        fill_diagonal: a
        nanpercentile: a | np.percentile(a | np.nanpercentile(a | m
        nanquantile: a | np.quantile(a | np.nanquantile(a | m
    """,
    "`overwrite_input=` is a hint, and operands keep their elements": """
        median: assert not
        nanpercentile: assert not
        nanquantile: assert not
        percentile: assert not
        quantile: assert not
    """,
    "the order in memory is always C, and cannot be seen": """
        ascontiguousarray: x.flags['F | np.may_share_memory(x, y
        asfortranarray: x.flags['F | y.flags['F | np.may_share_memory(x, y
        ravel: np.ravel(x.T, order='A') | a.ravel(order='K')
    """,
    "every result is a tensor of its own": """
        atleast_1d: np.atleast_1d(x) is x
        atleast_2d: np.atleast_2d(x).base is x
    """,
    "a tensor's memory is read-only for others": """
        copy: b.flags["WRITEABLE"]
        require: x.flags | y = np.require | y.flags
    """,
    "other random numbers than NumPy's": """
        corrcoef: xarr | R1 | yarr | R2 | R3
        poly: np.poly((np.random
    """,
    "measured times": """
        std: print(f'Percentage execution time
        var: print(f'Percentage execution time
    """,
    "uninitialised memory; here it is zeros": """
        empty: np.empty([2, 2]
        empty_like: np.empty_like(a)
    """,
    "elements of tensors are tensors, and print as such": """
        arange: print(x2)
        array_repr: np.array_repr(np.array([
        bitwise_left_shift: print(a, type(a)) | print(b, type(b))
        vectorize: type(out[0])
    """,
    "integers promote to the dtype of floats beside them": """
        can_cast: np.can_cast('i8', 'f4')
        promote_types: np.promote_types(
        result_type: np.result_type(
    """,
    "distinct values are sorted, and so are the parts of a partition": """
        partition: p2
        unique_values: np.unique_values([1, 1, 2])
    """,
    "`arange` of integers does not round a step that is none": """
        arange: np.arange(0, 5, 0.5, dtype= | np.arange(-3, 3, 0.5, dtype=
    """,
    "`asarray` and `linalg` make tensors of numbers, or raise": """
        asarray: np.asarray(a) is a
        isin: np.isin(element, test_set)
        linalg.outer: np.linalg.outer(x, [1, 2, 3])
    """,
    "`ndarray` is Tensor, which `asarray` makes": """
        array_repr: np.array_repr(np.ma
        asarray: issubclass(np.recarray, np.ndarray)
        ndarray: np.ndarray(
    """,
}
# what depends on the moment: it may be equal by chance
BY_CHANCE = frozenset({"empty", "empty_like", "std", "var"})


def known() -> dict[str, list[tuple[str, str]]]:
    """Return, for each function, the beginnings of its examples that differ, and why each does."""
    found: dict[str, list[tuple[str, str]]] = {}
    for why, lines in KNOWN.items():
        for line in lines.strip().splitlines():
            function, _, starts = line.strip().partition(": ")
            found.setdefault(function, []).extend((start, why) for start in starts.split(" | "))
    return found


def reason(function: str, source: str) -> str:
    """Return why an example gives something else; nothing if nobody said so."""
    # a name alone is that name, not all that begins with its letter
    matches = [
        why
        for start, why in known().get(function, [])
        if (source.startswith(start) if len(start) > 2 else source == start)
    ]
    return matches[0] if matches else ""


def examples_table() -> str:
    """Return the list as a table of a page."""
    lines = ["| why | whose examples |", "|---|---|"]
    for why, text in KNOWN.items():
        functions = [line.strip().partition(": ")[0] for line in text.strip().splitlines()]
        lines.append(f"| {why} | {', '.join(f'`{name}`' for name in functions)} |")
    return "\n".join(lines)
