"""A tracked run and the plan that it was made from, fetched from its MLflow server."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rldsl.compiler.plan import Plan, read_plan
from rldsl.diagnostics import RecipeError, at

PLAN = "plan.json"
ENVIRONMENT = {"GIT_PYTHON_REFRESH": "quiet", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
               "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_ALLOW_FILE_STORE": "true"}
"""MLflow otherwise warns where there is no git, draws bars, and tries for minutes what does not answer."""


@dataclass(frozen=True)
class TrackedRun:
    """A run as its tracker has it: the latest value of each metric."""

    plan: Plan
    status: str
    metrics: Mapping[str, float]


def tracked_run(run: str, uri: str) -> TrackedRun:
    """The MLflow run with id `run` at a tracking URI.

    Raises: RecipeError (RL407) where the server, the run or its plan cannot be read.
    """
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    if uri.startswith("sqlite:///") and not Path(uri.removeprefix("sqlite:///")).is_file():
        raise _unreadable(run, uri, "there is no such file")  # MLflow would make an empty one
    with tempfile.TemporaryDirectory() as folder:
        try:
            client = MlflowClient(uri)
            found, file = client.get_run(run), client.download_artifacts(run, PLAN, folder)
        except (MlflowException, OSError) as error:
            raise _unreadable(run, uri, str(error).splitlines()[0]) from error
        return TrackedRun(read_plan(Path(file)), found.info.status, found.data.metrics)


def _unreadable(run: str, uri: str, what: str) -> RecipeError:
    return RecipeError([at("RL407", f"The plan of MLflow run `{run}` at {uri} cannot be read: {what}.", None,
                           fix="Check the run's id, and name the server with --mlflow URI.")])
