"""The embedded backend: one process, torch, the same weights for sampling and training."""
