"""Where problems come from: toy tasks, reasoning-gym, and the user's own files."""

from .from_toys import toy_names
from .load import load_task
from .problem import Problem, Split, Task
from .rows import Columns

__all__ = ["Columns", "Problem", "Split", "Task", "load_task", "toy_names"]
