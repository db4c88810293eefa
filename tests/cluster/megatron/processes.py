"""Processes that take part in collectives, started once and used by many tests: a layout lives as long as a job."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import socket
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

SECONDS = 100
"""How long one job may take."""


def free_address() -> str:
    """A port of this machine that nobody listens on."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{s.getsockname()[1]}"


def _serve(connection: Connection) -> None:
    os.environ.update(OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore")
    import torch

    torch.set_num_threads(1)
    while True:
        try:
            job, arguments = pickle.loads(connection.recv_bytes())
        except EOFError:  # the tests have ended
            return
        try:
            answer = (job(*arguments), None)
        except Exception as error:  # whatever a job does wrong is the test's to see
            error.add_note("".join(traceback.format_exc().splitlines(True)[-7:]))
            answer = (None, error)
        gc.collect()  # models are cycles, and keep the threads of groups that were left, 45 for each layout
        try:
            connection.send_bytes(pickle.dumps(answer))
        except (pickle.PicklingError, TypeError, AttributeError):
            connection.send_bytes(pickle.dumps((None, RuntimeError(repr(answer)))))


class Processes:
    """Up to as many ranks as were started."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._pipes: list[Connection] = []
        self._processes: list[Any] = []

    def run(self, ranks: int, job: Callable[..., Any], *arguments: Any) -> list[Any]:
        """`job(rank, address, *arguments)` on so many ranks at once; what each gives. The first error is raised."""
        while len(self._processes) < ranks:
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=_serve, args=(theirs,))
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)
        address = free_address()
        for rank in range(ranks):
            self._pipes[rank].send_bytes(pickle.dumps((job, (rank, address, *arguments))))
        answers = []
        for rank in range(ranks):
            if not self._pipes[rank].poll(SECONDS):
                self.end()  # what they answer later would be taken for the next job's
                raise TimeoutError(f"rank {rank} of {ranks} gave no answer to {job.__name__}")
            answers.append(pickle.loads(self._pipes[rank].recv_bytes()))
        errors = [error for _, error in answers if error is not None]
        if errors:  # a rank whose neighbour has gone says so, and nothing of interest
            raise next((e for e in errors if "by peer" not in str(e)), errors[0])
        return [value for value, _ in answers]

    def end(self) -> None:
        """Ends all processes: they see that nobody speaks to them any more, and end what they have started."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(10)
            process.kill()
            process.join()
        self._pipes, self._processes = [], []
