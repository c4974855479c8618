"""The namespace `tfr.sparse`: matrices of which only some elements are stored, in SciPy's three formats.

A sparse tensor is a container of dense ones: its elements, and integers that say where they are. Products with dense
tensors are recorded and computed like everything else, on every device, and have gradients.
"""

from __future__ import annotations

from tensorframe.documentation.docstrings import complete_module
from tensorframe.sparse import linalg
from tensorframe.sparse.compressed import CSC, CSR
from tensorframe.sparse.coordinates import COO
from tensorframe.sparse.creation import coo_array, csc_array, csr_array, eye_array, from_scipy
from tensorframe.sparse.tensor import SparseTensor, issparse

__all__ = [
    "COO",
    "CSC",
    "CSR",
    "SparseTensor",
    "coo_array",
    "csc_array",
    "csr_array",
    "eye_array",
    "from_scipy",
    "issparse",
    "linalg",
]

complete_module(__name__)
