"""Functions of scalars that users write: recorded as rows of their own."""
