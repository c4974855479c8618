"""Networks that are trained: `python -m examples.training.digits`, `.character_gpt` and `.encoder_head`."""
