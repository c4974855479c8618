"""The machine code of CUDA kernels, read without a GPU: what it says of memory accesses, registers and barriers."""
