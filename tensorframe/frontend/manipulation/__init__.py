"""The same elements elsewhere: shapes, axes, joining, splitting, padding, editing."""
