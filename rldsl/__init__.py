"""A declarative recipe language and compiler for reinforcement learning of large language models."""

__version__ = "0.1.0"
