"""What `help()` and the site say of a function: its docstring, and sections made from what is written once."""
