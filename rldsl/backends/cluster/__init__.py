"""The backend of several processes: `rollout` samples with vLLM, `training` trains over ranks, each with `megatron`.

`launch` starts them on Ray and runs the plan. Importing this package imports none of the libraries.
"""
