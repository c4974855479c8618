"""The layers of `tfr.nn`, a topic each: PyTorch's arguments, names of parameters and initial values."""
