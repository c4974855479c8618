"""Rules for gradients of ops that are not elementwise, by kind; those that take a line stand on their rows."""
