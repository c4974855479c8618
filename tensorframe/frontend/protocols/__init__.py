"""How others see a tensor: Python, NumPy, DLPack and consumers of the array standard."""
