"""LLVM: kernels as textual modules of its intermediate representation, in plain strings.

`kernel` prints a whole one; it is made of `statements`, these of `expressions`, and these of `arithmetic`,
`conversions` and `memory`. `builder` writes instructions, `types` knows their types and constants.
"""

from tensorframe.codegen.llvm.kernel import print_kernel
from tensorframe.codegen.llvm.target import Target

__all__ = ["Target", "print_kernel"]
