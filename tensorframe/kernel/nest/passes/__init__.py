"""Passes over kernel IR: each takes statements and gives better ones."""
