"""Trials: what a computation will cost, gives and takes on each device, without touching the tensors it is made of."""
