"""Backends: a handful of methods each that hold data and run regions."""
