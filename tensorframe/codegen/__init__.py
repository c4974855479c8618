"""Code generation: kernel IR as text, one module per dialect."""
