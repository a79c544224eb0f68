# SPDX-License-Identifier: Apache-2.0
"""Reads private attributes of the iterators of torch.utils.data.DataLoader that tell about their
batches. Each function expects that an attribute may be missing.
"""

import weakref


def ready_batches(iterator):
    """Returns how many batches wait to be fetched, and how many can wait; None for a loader without
    workers.
    """
    if not hasattr(iterator, "_data_queue"):
        return None
    return count_ready(iterator), capacity(iterator)


def count_ready(iterator):
    early = sum(len(info) > 1 for info in iterator._task_info.values())
    return iterator._data_queue.qsize() + early


def has_more(iterator):
    """Returns False when it is known that there is no next batch."""
    try:
        return iterator._num_yielded < len(iterator)
    except (TypeError, AttributeError, NotImplementedError):
        return True


class Loaders:
    """Gives each loader a number, the same for all its iterators as long as the loader exists."""

    def __init__(self):
        self._numbers = {}  # by weak references to what a loader has one of
        self._count = 0

    def number(self, iterator):
        """Returns the number of the iterator's loader; 0: not known."""
        try:
            key = weakref.ref(iterator._index_sampler, self._forget)
            if key not in self._numbers:
                self._count += 1
                self._numbers[key] = self._count
        except (TypeError, AttributeError):  # such as a list of batches
            return 0
        return self._numbers[key]

    def _forget(self, key):
        self._numbers.pop(key, None)


def length(iterator):
    """Returns the number of batches, -1: not known. It is read once for an iterator: it does not
    change, and the length of a sampler is a function of the program.
    """
    try:
        return len(iterator)
    except (TypeError, AttributeError, NotImplementedError):
        return -1


def capacity(iterator):
    """Returns the number of batches that the workers prepare ahead; 0 without workers."""
    if not hasattr(iterator, "_data_queue"):
        return 0
    return iterator._prefetch_factor * iterator._num_workers


def room(iterator):
    """Returns (a function that returns how many more batches the workers' queue can take, that
    number for an empty queue). Returns None for another kind of queue, or when the iterator does
    not show which batches came out of the queue before their turn.
    """
    try:
        queue = iterator._data_queue
        is_iterable = iterator._dataset_kind != _MAP
        return None if is_iterable else (queue._sem._semlock._get_value, queue._maxsize)
    except AttributeError:  # a thread pins memory, or another version
        return None


_MAP = 0  # torch.utils.data._DatasetKind.Map


def describe(iterator):
    """Records the number of worker processes, and the batches that each prepares ahead."""
    workers = getattr(iterator, "_num_workers", 0)
    ahead = getattr(iterator, "_prefetch_factor", 0) if workers else 0
    return workers, ahead or 0
