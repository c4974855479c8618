"""The scheduler: named passes that turn nodes into a plan of steps."""
