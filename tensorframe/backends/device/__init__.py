"""What the backends of devices with kernels and memory of their own share: arrays, memory, programs."""
