"""Forms for work-groups: how the passes over a region become kernels of many threads."""
