"""Where the NumPy engine says how it spells ops: modules of this folder, each imported when one of its ops runs."""

from __future__ import annotations

from importlib import import_module

from tensorframe.backends.interruptible import at_the_end
from tensorframe.graph.op import Kind, Op

_NAMES = {
    "convolution.convolution": "convolution",
    "draws": "draw",
    "elementwise": "cast dot4 expm1 floor_divide imag pow real tanh where",
    "formulas": "cos_turns surprisal",
    "fourier": "fftn ifftn irfftn rfftn",
    "indexing": "gather scatter set_slice take_along_axis",
    "interpolation": "interp",
    "linalg": "cholesky det eig eigh eigvals eigvalsh inv lstsq qr slogdet solve svd svdvals",
    "movement": "concat depends expand pad part permute reshape slice windows",
    "products.contraction": "einsum matmul",
    "products.joined_product": "joined_matmul joined_quantized_matmul",
    "products.quantized_product": "quantized_matmul quantized_matmul_with_zeros",
    "products.sparse": "row_numbers sampled_matmul sparse_matmul transposed_sparse_matmul",
    "random": "random_word",
    "reduction": "argmax argmin count_nonzero",
    "scans": "cumulative_prod cumulative_sum",
    "signals": "convolve",
    "sorting": "argpartition argsort histogram partition searchsorted select sort topk",
    "special": "erf erfc",
    "special_functions": "betainc gammainc gammaincc "
    "digamma erfcinv erfinv gamma gammaln i0 i0e i1 i1e ndtr ndtri polygamma riemann_zeta trigamma zeta",
}
MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
# what makes the functions of all other ops of a kind
MODULES_OF_KINDS = {Kind.REDUCE: "reduction", Kind.SCATTER: "combining"}

_MOST_USED = ("elementwise", "movement", "reduction")
_loaded: set[str] = set()  # known without `sys.modules`, which is empty at the end


def is_spelt(op: Op) -> bool:
    """Whether a module of this folder spells an op; of one that has a formula too, with the formula's bits."""
    return op.name in MODULES


def load(op: Op) -> None:
    """Import the module that says how an op is spelt, if there is one."""
    module = MODULES.get(op.name) or MODULES_OF_KINDS.get(op.kind)
    if module is not None and module not in _loaded:
        _load(module)


def load_all() -> None:
    """Import all of them."""
    for module in {*_NAMES, *MODULES_OF_KINDS.values()}:
        _load(module)


def _load(module: str) -> None:
    import_module(f"{__package__}.{module}")
    _loaded.add(module)


def _load_most_used() -> None:
    for module in _MOST_USED:
        _load(module)


# what is deleted last may still compute, when nothing can be imported any more
at_the_end.append(_load_most_used)
