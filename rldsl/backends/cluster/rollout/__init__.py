"""The role that samples: one vLLM engine in each process, and all of them behind one front, `rollouts`."""
