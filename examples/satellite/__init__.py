"""A stack of satellite scenes, larger than memory, cleaned and reduced in a gigabyte."""
