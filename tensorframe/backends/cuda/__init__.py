"""CUDA and ROCm through CuPy: kernels in C++ that NVRTC compiles, and the makers' libraries."""
