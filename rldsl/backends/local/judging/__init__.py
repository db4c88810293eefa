"""Models that are asked for a score."""
