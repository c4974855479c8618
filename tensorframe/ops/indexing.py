"""Gathers and scatters: elements selected or replaced by positions."""
