"""What a file of unknown origin may be before its tables are read, as src/core/h5/h5vet.c has it, and the
one exception of those that are not."""

import contextlib
import errno
import os
import stat

_MORE_BYTES = 384 << 20  # with what Python itself takes, memory stays within 512 MiB of the file's size
_VARIABLE = "PROFWRAP_READ_MEMORY"
_MOST_CHUNK_BYTES = 1 << 24
_MOST_ELEMENT_BYTES = 1 << 15
_MOST_ATTRIBUTE_BYTES = 1 << 20
_FREE_BYTES = 1 << 20  # so many may be rows that nobody wrote
_MOST_GROWTH = 2048  # deflate makes at most 1032 bytes of one
_LEAST_PLACE_BYTES, _FREE_CHUNKS = 8, 64
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# What the system may lack or refuse while a good file is read.
_NOT_THE_FILES = {
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EWOULDBLOCK, errno.EINTR),
    *(errno.EACCES, errno.EPERM, errno.ENOENT, errno.EIO, errno.ESTALE, errno.ETIMEDOUT),
}


class FileError(OSError, ValueError):
    """A file of the run that is damaged, or is no file of profwrap's; the text names it."""


def check_regular(path):
    """FileError for what is no file, which HDF5 could wait for; OSError for one that is not there."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise FileError(f"{path} is not a regular file")
    with open(path, "rb"):
        pass


@contextlib.contextmanager
def judging(path):
    """Whatever else goes wrong in the block is the file's doing, but for what the system says."""
    try:
        yield
    except (FileError, ImportError):
        raise
    except OSError as problem:
        if problem.errno in _NOT_THE_FILES:
            raise type(problem)(problem.errno, os.strerror(problem.errno), path) from problem
        raise FileError(f"{path} is damaged: {_in_one_line(problem)}") from problem
    except MemoryError as problem:
        raise FileError(f"{path} is damaged, or too large: memory is short") from problem
    except Exception as problem:
        raise FileError(f"{path} is damaged: {_in_one_line(problem)}") from problem


def _in_one_line(problem):
    text = f"{type(problem).__name__} {problem}"
    return "".join(c if c.isprintable() else " " for c in text)[:200]


def most_bytes(path):
    """What the tables of one call may take; ValueError for a variable that is no size."""
    text = os.environ.get(_VARIABLE, "")
    if not text:
        return os.path.getsize(path) + _MORE_BYTES
    unit = _UNITS.get(text[-1].upper(), 1)
    number = text[:-1] if unit > 1 else text
    if not (number.isascii() and number.isdigit() and int(number)):
        raise ValueError(f"{_VARIABLE} is {text!r}, but must be a size such as 8G")
    return int(number) * unit


def check_memory(path, name, size):
    most = most_bytes(path)
    if size > most:
        raise FileError(
            f"{path} has a table {name} that takes {-(-size >> 20)} MiB in memory, but no more than"
            f" {most >> 20} MiB are allowed for a file of its size; set {_VARIABLE} to read it"
            " (such as 8G)"
        )


def find(file, path):
    """The object at `path`, or None. Links other than hard ones could lead out of the file."""
    import h5py

    node = file
    for part in path.strip("/").split("/"):
        if not isinstance(node, h5py.Group):
            return None
        if not isinstance(node.get(part, getlink=True), h5py.HardLink):
            return None
        node = node[part]
    return node


def names_of(file):
    """The names in the root of a file that are its own."""
    return [name for name in file if find(file, name) is not None]


def _is_layout_plain(dataset, h5py):
    properties = dataset.id.get_create_plist()
    layout = properties.get_layout()
    if layout == h5py.h5d.CONTIGUOUS:
        return properties.get_external_count() == 0
    filters = [properties.get_filter(i)[0] for i in range(properties.get_nfilters())]
    ours = {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}
    return (
        layout == h5py.h5d.CHUNKED
        and len(filters) == len(set(filters))
        and ours.issuperset(filters)
        and _product(properties.get_chunk()) * dataset.dtype.itemsize <= _MOST_CHUNK_BYTES
    )


def _product(numbers):
    result = 1
    for number in numbers:
        result *= number
    return result


def _count_chunks(dataset):
    return _product(-(-n // c) for n, c in zip(dataset.shape, dataset.chunks or dataset.shape) if c)


def check_storage(file, dataset):
    """FileError when the dataset's rows are elsewhere, stored strangely, or more than are stored."""
    import h5py

    name, path = dataset.name, file.filename
    size = os.path.getsize(path)
    element = dataset.dtype.itemsize
    rows = _product(dataset.shape)
    stored = min(dataset.id.get_storage_size(), size)
    if len(dataset.shape) not in (1, 2) or not 0 < element <= _MOST_ELEMENT_BYTES:
        raise FileError(f"{path} is damaged: {name} is no table")
    if not _is_layout_plain(dataset, h5py):
        raise FileError(f"{path} is damaged: {name} is stored as profwrap stores nothing")
    if rows * element > max(_FREE_BYTES, stored * _MOST_GROWTH) or (
        _count_chunks(dataset) > size // _LEAST_PLACE_BYTES + _FREE_CHUNKS
    ):
        raise FileError(f"{path} is damaged: {name} has more rows than it stores")
    return rows


def read_some_texts(dataset, rows, path):
    """Texts of a 1-D dataset: some rows at a time, since any of them may be as long as the file, and
    together no longer than it, since many rows may claim the same bytes."""
    size, texts, left = os.path.getsize(path), [], os.path.getsize(path)
    block = max(1, (_MORE_BYTES >> 2) // max(size, 1))
    for first in range(0, rows, block):
        for text in dataset[first : first + block]:
            text = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
            left -= len(text)
            if left < 0:
                raise FileError(f"{path} is damaged: {dataset.name} has more text than it stores")
            texts.append(text)
    return texts


def is_attribute_plain(attribute):
    """Whether it is one number or text of fixed length, as profwrap writes them: others are left out."""
    return (
        attribute.get_storage_size() <= _MOST_ATTRIBUTE_BYTES
        and attribute.shape == ()
        and attribute.dtype.kind in "iufS"
    )
