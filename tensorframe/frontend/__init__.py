"""What users touch: Tensors that record, and the functions of the namespace.

Here: `tensor` is the handle, `dispatch` records what is done to it, `operands` is what every other function begins
with, and `namespace` lists what is public. The folders hold the functions:

    elementwise   the rows as functions and operators, and what is composed of them
    fast_paths    what a call recorded before, recorded again at once
    conversion    numbers, sequences, arrays and DLPack objects of others as tensors
    creation      of one value, evenly spaced, triangular
    manipulation  shapes, axes, joining, splitting, padding, editing
    indexing      elements by position or condition
    reductions    along axes: sums, statistics, scans, differences
    ordering      sorting, quantiles, sets, bins, interpolation
    linalg, fft, random   namespaces of their own
    dtypes        promotion, casting, limits, scalar types
    jit           functions recorded once for each signature, and replayed
    transformations   gradients, batching, checkpoints
    user_functions, raw_kernels   what users add: elementwise functions, kernels
    mixed_precision   autocast, scaling of losses
    numpy_names   what programs for NumPy name beside the standard, composed of the above
    files         tensors saved, and loaded lazily
    trials        what a computation takes, gives and costs on each device: estimate, verify, bench
    diagnostics   plans, profiles, memory, caches, calibration, tuning
    protocols     how Python, NumPy, DLPack and the array standard's consumers see a tensor
"""
