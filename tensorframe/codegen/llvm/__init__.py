"""LLVM: kernels as textual modules of its intermediate representation, in plain strings.

`kernel` prints a whole one; it is made of `statements`, these of `expressions`, and these of `arithmetic`,
`conversions`, `memory` and `lines`. `steps` finds the loops that can be computed on vectors, `vectors` writes these.
`builder` writes instructions, `types` knows their types and constants, `target` the machine that they are for.
"""

from tensorframe.codegen.llvm.kernel import PACKED, SELECTED, print_kernel
from tensorframe.codegen.llvm.target import Target

__all__ = ["PACKED", "SELECTED", "Target", "print_kernel"]
