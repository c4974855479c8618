"""WebGPU: kernels in WGSL, through Vulkan, Metal, Direct3D or OpenGL."""
