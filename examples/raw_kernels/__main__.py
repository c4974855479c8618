"""All three, one after the other, on a device of your choice."""

from __future__ import annotations

import sys

from examples.raw_kernels import bilateral, mandelbrot, segmented_scan

for example in (mandelbrot, bilateral, segmented_scan):
    example.main(*sys.argv[1:2])
