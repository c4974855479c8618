"""Progress: what is under way, how far it is, and how a terminal shows it."""
