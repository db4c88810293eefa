"""The backend of several processes: Ray actors, rollouts in vLLM, training in Megatron-core.

Importing this package imports none of them.
"""
