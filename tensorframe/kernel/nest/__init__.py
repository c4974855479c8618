"""The nest: loops over memory, the elements in them, and statements made better."""
