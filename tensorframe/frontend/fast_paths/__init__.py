"""Fast paths of recording: what a call recorded before, or computes at once, without reading arguments again."""
