"""Processes that hold the models which are asked in texts, or begin responses."""
