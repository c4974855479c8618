"""Evaluation without a plan: few or small nodes run at once, by calls of functions."""
