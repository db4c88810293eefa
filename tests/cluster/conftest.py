"""Tests of the cluster backend: collected where its engines are installed (`make test-cluster`)."""

from __future__ import annotations

from importlib.util import find_spec

ENGINES = ("ray", "vllm", "megatron")

collect_ignore_glob = [] if all(find_spec(name) for name in ENGINES) else ["*"]
