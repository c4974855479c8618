"""Values of others as Tensors: numbers, sequences, arrays, buffers and DLPack objects, shared where nobody writes."""
