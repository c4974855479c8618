"""Programs that train three networks, one for each library: each runs in a process of its own, and prints a number."""
