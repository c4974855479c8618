"""Rewriting: the same values, written so that less has to be done."""
