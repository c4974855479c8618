"""Functions made of functions: gradients, directional derivatives, and rules of one's own."""
