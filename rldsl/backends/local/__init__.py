"""The embedded backend: one process, torch, the same weights for sampling and training."""

import warnings

# torch warns at import where numpy is not installed; nothing here needs it
warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
