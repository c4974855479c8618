"""OpenCL: kernels in OpenCL C, on whatever a driver offers."""
