"""Element by element: the functions and operators of the rows, and what is composed of them."""
