"""Convolutions by NumPy: as implicit products, with the zeros around and between their elements never multiplied."""
