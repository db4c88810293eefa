"""The cluster backend: Ray actors, vLLM rollouts, Megatron-core trainers."""
