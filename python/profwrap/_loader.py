"""What the iterators of torch.utils.data.DataLoader know of their batches: private to them, so that
every reader here expects that it may not be there."""

import weakref


def ready_batches(iterator):
    """Batches that wait to be fetched, and how many can: None of a loader without workers."""
    if not hasattr(iterator, "_data_queue"):
        return None
    return count_ready(iterator), capacity(iterator)


def count_ready(iterator):
    early = sum(len(info) > 1 for info in iterator._task_info.values())
    return iterator._data_queue.qsize() + early


def has_more(iterator):
    """False when it is known that the next batch does not exist."""
    try:
        return iterator._num_yielded < len(iterator)
    except (TypeError, AttributeError, NotImplementedError):
        return True


class Loaders:
    """Numbers of loaders, equal for all iterators of one, as long as it exists."""

    def __init__(self):
        self._numbers = {}  # by weak references to what a loader has one of
        self._count = 0

    def number(self, iterator):
        """0 where it cannot be told."""
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
    """How many batches it has, -1 not known. Of an iterator it does not change, and its samplers' is
    a function of the program."""
    try:
        return len(iterator)
    except (TypeError, AttributeError, NotImplementedError):
        return -1


def capacity(iterator):
    """Batches that the workers make ahead; 0 without workers."""
    if not hasattr(iterator, "_data_queue"):
        return 0
    return iterator._prefetch_factor * iterator._num_workers


def room(iterator):
    """(function that tells how many batches the workers' queue still takes, that number of an empty
    queue), or None: where it is another kind of queue, or where the iterator's own numbers do not tell
    which batches came out of it before their turn."""
    try:
        queue = iterator._data_queue
        is_iterable = iterator._dataset_kind != _MAP
        return None if is_iterable else (queue._sem._semlock._get_value, queue._maxsize)
    except AttributeError:  # a thread pins memory, or another version
        return None


_MAP = 0  # torch.utils.data._DatasetKind.Map


def describe(iterator):
    """Worker processes, and batches that each of them makes ahead."""
    workers = getattr(iterator, "_num_workers", 0)
    ahead = getattr(iterator, "_prefetch_factor", 0) if workers else 0
    return workers, ahead or 0
