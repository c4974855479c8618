"""What proves a backend right, ours or anybody's, and what writes the stubs."""
