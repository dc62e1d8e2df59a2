"""Processes that run the same function and exchange arrays: what `sharded.py` stands on."""

from __future__ import annotations

import multiprocessing
from typing import Any

import numpy as np


class Group:
    """One process's view of them: its rank, and how many there are. All exchange together."""

    def __init__(self, rank: int, size: int, pipes: list[Any]) -> None:
        self.rank, self.size, self.pipes = rank, size, pipes  # pipes to all others, or to the first

    def exchange(self, part: Any) -> list[Any]:
        """What each process passed, in the order of ranks; the first one collects and hands out."""
        if self.rank:
            self.pipes[0].send(np.asarray(part))
            return self.pipes[0].recv()
        parts = [np.asarray(part), *(pipe.recv() for pipe in self.pipes)]
        for pipe in self.pipes:
            pipe.send(parts)
        return parts

    def total(self, part: Any) -> Any:
        return np.asarray(sum(self.exchange(part)))

    def whole(self, part: Any, axis: int) -> Any:
        return np.concatenate(self.exchange(part), axis)

    def part(self, whole: Any, axis: int) -> Any:
        return np.array_split(np.asarray(whole), self.size, axis)[self.rank]


def run(function: Any, size: int) -> Any:
    """What ``function(group)`` returns here, after the others have run it too and have ended."""
    context = multiprocessing.get_context("fork")
    pipes, workers = [], []

    def work(rank: int, ours: Any, theirs: Any) -> None:
        ours.close()  # each end is held by one process: an end that is let go is noticed
        function(Group(rank, size, [theirs]))

    try:
        for rank in range(1, size):
            ours, theirs = context.Pipe()
            workers.append(context.Process(target=work, args=(rank, ours, theirs)))
            workers[-1].start()
            theirs.close()
            pipes.append(ours)
        return function(Group(0, size, pipes))
    finally:
        for pipe in pipes:
            pipe.close()
        for worker in workers:
            worker.join()
