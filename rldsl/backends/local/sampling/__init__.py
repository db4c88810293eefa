"""Decoding: a whole batch at a time, or request by request while weights change."""
