"""What users touch: Tensors that record, and the functions of the namespace."""
