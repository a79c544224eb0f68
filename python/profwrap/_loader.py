"""What the iterators of torch.utils.data.DataLoader know of their batches: private to them, so that
every reader here expects that it may not be there."""

import weakref


def ready_batches(iterator):
    """Batches that wait to be fetched, and how many can: None of a loader without workers."""
    if not hasattr(iterator, "_data_queue"):
        return None
    early = sum(len(info) > 1 for info in iterator._task_info.values())
    most = iterator._prefetch_factor * iterator._num_workers
    return iterator._data_queue.qsize() + early, most


def has_more(iterator):
    """False when it is known that the next batch does not exist."""
    try:
        return iterator._num_yielded < len(iterator)
    except (TypeError, AttributeError, NotImplementedError):
        return True


class Batches:
    """What does not change of an iterator, kept for the next wait: its length is that of samplers,
    whose functions are the program's."""

    __slots__ = ("iterator", "_length", "source", "workers")

    def __init__(self, iterator):
        self.iterator = _nothing if iterator is None else weakref.ref(iterator)
        try:
            self._length = len(iterator)
        except (TypeError, AttributeError, NotImplementedError):
            self._length = None
        #: Equal for all iterators of a loader; None where that cannot be told.
        self.source = None
        try:
            self.source = weakref.ref(iterator._index_sampler)
        except (TypeError, AttributeError):  # such as a list of batches
            pass
        #: True when worker processes fill a queue.
        self.workers = hasattr(iterator, "_data_queue")

    def has_more(self, iterator):
        """False when it is known that the next batch does not exist."""
        return self._length is None or iterator._num_yielded < self._length


def _nothing():
    return None


def describe(iterator):
    """Worker processes, and batches that each of them makes ahead."""
    workers = getattr(iterator, "_num_workers", 0)
    ahead = getattr(iterator, "_prefetch_factor", 0) if workers else 0
    return workers, ahead or 0
