"""Models and tokenizers as they lie on disk, and the toy ones that lie nowhere."""
