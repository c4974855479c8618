"""Execution of plans: the loop over steps, what observes it, and the memory that steps are admitted to."""
