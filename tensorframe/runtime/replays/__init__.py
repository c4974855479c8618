"""Replays: the plan of a recorded function run again on other arguments, on memory that stays where that pays."""
