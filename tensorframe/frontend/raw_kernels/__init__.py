"""Raw kernels: bodies in CUDA C++, OpenCL C, WGSL or Python that users write, as ops of the graph."""
