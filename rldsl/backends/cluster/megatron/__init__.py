"""One rank's share of the models in Megatron-core: shape, conversion, packing, passes, log-probs, gradients, steps."""
