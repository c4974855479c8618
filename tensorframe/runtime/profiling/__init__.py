"""Profiles: what ran is collected and added up, then read as records, as a timeline, or as a file for trace viewers."""
