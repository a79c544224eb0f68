"""What the iterators of torch.utils.data.DataLoader know of their batches: private to them, so that
every reader here expects that it may not be there."""


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


def describe(iterator):
    """Worker processes, and batches that each of them makes ahead."""
    workers = getattr(iterator, "_num_workers", 0)
    ahead = getattr(iterator, "_prefetch_factor", 0) if workers else 0
    return workers, ahead or 0
