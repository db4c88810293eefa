"""The policy's network: what Llama-family layers compute, over rows of different length and over a cache."""
