# SPDX-License-Identifier: Apache-2.0
"""Checks of files of unknown origin before their tables are read, as in src/core/h5/h5vet.c, and
the exception for files that fail them.
"""

import contextlib
import errno
import os
import stat

_MORE_BYTES = 384 << 20  # with what Python itself takes, memory stays within 512 MiB of the file's size
_VARIABLE = "PROFWRAP_READ_MEMORY"
_MOST_CHUNK_BYTES = 1 << 24
_MOST_ELEMENT_BYTES = 1 << 15
_MOST_ATTRIBUTE_BYTES = 1 << 20
_FREE_BYTES = 1 << 20  # so many bytes may be of rows that nobody wrote (HDF5's fill values)
_MOST_GROWTH = 2048  # deflate makes at most 1032 bytes of one
_LEAST_PLACE_BYTES, _FREE_CHUNKS = 8, 64
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# What the system may lack or refuse while a good file is read.
_NOT_THE_FILES = {
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EWOULDBLOCK, errno.EINTR),
    *(errno.EACCES, errno.EPERM, errno.ENOENT, errno.EIO, errno.ESTALE, errno.ETIMEDOUT),
}


class FileError(OSError, ValueError):
    """Raised for a file of the run that is damaged, or is no profwrap file; the text names it."""


def check_regular(path):
    """Raises FileError when the path is no regular file, because HDF5 could block on it; OSError
    when it does not exist.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise FileError(f"{path} is not a regular file")
    with open(path, "rb"):
        pass


@contextlib.contextmanager
def judging(path):
    """Turns exceptions in the block into FileError, except errors of the system."""
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
    """Returns the memory that the tables of one call may take. Raises ValueError when the variable
    is no size.
    """
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
    """Returns the object at `path`, or None. Accepts only hard links: others could lead out of the
    file.
    """
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
    """Returns the names in the root of a file that are hard links."""
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
    """Raises FileError when the dataset's rows are in another file, stored in an unknown way, or
    more than the stored bytes can hold.
    """
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
    together no longer than it, since many rows may claim the same bytes.
    """
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
    """Whether the attribute is one number or one text of fixed length, as profwrap writes them;
    others are ignored.
    """
    return (
        attribute.get_storage_size() <= _MOST_ATTRIBUTE_BYTES
        and attribute.shape == ()
        and attribute.dtype.kind in "iufS"
    )
