"""Arrays outside memory: read by windows, written by windows."""
