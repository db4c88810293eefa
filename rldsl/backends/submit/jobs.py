"""From a recipe's cluster block to a job file that starts Ray on every node and then runs the recipe on it."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from rldsl.compiler.recipe import Recipe
from rldsl.compiler.roles import processes
from rldsl.diagnostics import RecipeError, at
from rldsl.diagnostics.suggest import did_you_mean

TEMPLATES = Path(__file__).parent


@dataclass(frozen=True)
class Target:
    """A scheduler: its template, the file it makes, how that is handed in, and the options it takes with what each
    is for; `required` ones have no sensible default."""

    template: str
    file: str
    submit: str
    options: Mapping[str, str]
    required: tuple[str, ...] = ()


TARGETS: Mapping[str, Target] = {
    "slurm": Target("slurm.sh.j2", "{name}.slurm.sh", "sbatch {file}", {
        "time": "limit of the job, as 12:00:00", "partition": "of the nodes", "account": "that is charged"}),
    "kubernetes": Target("kubernetes.yaml.j2", "{name}.rayjob.yaml", "kubectl apply -f {file}", {
        "image": "container image with rldsl and its cluster extra", "folder": "of the project in that image",
        "namespace": "of the job"}, ("image", "folder")),
    "ray": Target("ray.sh.j2", "{name}.ray.sh", "bash {file}", {
        "address": "of the cluster's dashboard, as http://head:8265"}, ("address",)),
}
PLAIN = re.compile(r"[\w.,:/@=+-]+")
"""What a value may be made of: it is written into a script."""


def job(recipe: Recipe, file: str, target: str, given: Mapping[str, str], *, profile: str | None,
        sets: Sequence[str]) -> str:
    """The text of a job file. `file` is the recipe's path from the project's root, where the job has to start.

    RecipeError RL401 for a recipe that does not say how many machines it wants, RL205 for options that the target
    does not take, lacks, or that are no plain words.
    """
    cluster, known = recipe.settings.cluster, TARGETS[target]
    if cluster.nodes is None or cluster.gpus_per_node is None:
        raise RecipeError([at(
            "RL401", f"`{recipe.name}` does not say how many machines it runs on.", recipe.where("cluster.nodes"),
            why="A job file asks a scheduler for nodes and their GPUs.",
            fix="Write cluster { nodes: 4, gpus_per_node: 8 }; on this machine, `rldsl run` needs no job.")])
    _check(target, known, given)
    command = ["rldsl", "run", f"{file}:{recipe.name}", *(["--profile", profile] if profile else []),
               *(word for each in sets for word in ("--set", each))]
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined,
                                     trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    environment.filters["quoted"] = json.dumps
    return environment.get_template(known.template).render(
        name=recipe.name, label=recipe.name.replace("_", "-").lower(), command=shlex.join(command),
        nodes=cluster.nodes, gpus=cluster.gpus_per_node, gpu=cluster.gpu, cpus=cpus(recipe),
        **{o: given.get(o) for o in known.options})


def cpus(recipe: Recipe) -> int:
    """CPUs that each node needs at least: Ray reserves one for every process of every role."""
    return math.ceil(sum(role.count * role.bundle["CPU"] for role in processes(recipe)) / recipe.settings.cluster.nodes)


def _check(target: str, known: Target, given: Mapping[str, str]) -> None:
    wrong = [name for name in given if name not in known.options]
    lacking = [name for name in known.required if name not in given]
    odd = [name for name, value in given.items() if name in known.options and not PLAIN.fullmatch(value)]
    takes = "; ".join(f"{name}: {says}" for name, says in known.options.items())
    found = [at("RL205", f"{target} takes no option {name!r}.", None, why=f"It takes {takes}.",
                fix=did_you_mean(name, known.options) or "Leave it out.") for name in wrong]
    found += [at("RL205", f"{target} needs the option {name!r}: {known.options[name]}.", None,
                 fix=f"Add --with {name}=…") for name in lacking]
    found += [at("RL205", f"The option {name!r} is {given[name]!r}, which is no plain word.", None,
                 why="It is written into a script.", fix="Use letters, digits and . , : / @ = + - only.")
              for name in odd]
    if found:
        raise RecipeError(found)
