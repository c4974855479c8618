"""File formats: where in a file each tensor lies, found without reading the tensors."""
