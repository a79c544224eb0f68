# SPDX-License-Identifier: Apache-2.0
"""Collectives of torch.distributed, recorded by the probe (src/collectors/torch).

The probe sees each operation of a process group by its own wrappers. It cannot know two things, which
this module tells it once: where PyTorch's tensors have their number of elements and their data type,
and the name and the members of each process group before it is made. Called by profwrap's import hook
alone. Nothing here raises into the program, or changes what it computes.
"""

import ctypes
import functools
import inspect
import sys


class _Torch(ctypes.Structure):
    """struct profwrap_torch of src/collectors/torch/torch_wrap.c."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        (
            "layout",
            ctypes.PYFUNCTYPE(None, ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_int),
        ),
        (
            "group",
            ctypes.PYFUNCTYPE(
                None, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int32), ctypes.c_int
            ),
        ),
    ]


_TYPES = 64  # as many data types as the probe keeps
# Data types that a program communicates; others warn when a tensor of theirs is made.
_NAMES = (
    "uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 float32 float64 bfloat16 bool complex64"
    " complex128 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz"
).split()
_OBJECT = 184  # bytes of c10::TensorImpl that all versions have at least (TensorImpl.h asserts more)


def _probe():
    try:
        return _Torch.in_dll(ctypes.CDLL(None), "profwrap_torch_v1")
    except (OSError, ValueError):
        return None


def _bytes_of(tensor):
    return ctypes.string_at(tensor._cdata, _OBJECT)


def find_layout(torch):
    """(offset of the number of elements, offset of the data type, bytes of an element by type) in
    PyTorch's object of a tensor, found by comparing tensors that differ in nothing else; or None."""
    counts = (7919, 6857, 7207)
    seen = [(n, _bytes_of(torch.empty(n, dtype=torch.float32))) for n in counts]
    # Strides and sizes of such a tensor are elsewhere or equal 7919 too: the last place is numel_,
    # which TensorImpl.h has behind sizes_and_strides_.
    numel = [
        at
        for at in range(8, _OBJECT - 8, 8)
        if all(int.from_bytes(data[at : at + 8], "little") == n for n, data in seen)
    ]
    if not numel:
        return None
    known = {torch.uint8: 0, torch.int64: 4, torch.float32: 6, torch.float64: 7, torch.bool: 11}
    made = [(number, _bytes_of(torch.empty(3, dtype=d))) for d, number in known.items()]
    types = [
        at
        for at in range(numel[-1] + 8, _OBJECT - 2, 2)
        if all(int.from_bytes(data[at : at + 2], "little") == n for n, data in made)
    ]
    if not types:
        return None
    sizes = bytearray(_TYPES)
    for name in _NAMES:
        if hasattr(torch, name):
            tensor = torch.empty(1, dtype=getattr(torch, name))
            number = int.from_bytes(_bytes_of(tensor)[types[0] : types[0] + 2], "little")
            if number < _TYPES:
                sizes[number] = tensor.element_size()
    return numel[-1], types[0], bytes(sizes)


def attach(torch):
    """Tells the probe where tensors have their size, and announces process groups from now on. PyTorch
    is imported, and with it torch.distributed where it was built with that."""
    probe = _probe()
    if probe is None:
        return
    found = find_layout(torch)
    if found:
        numel, dtype, sizes = found
        probe.layout(numel, dtype, sizes, len(sizes))
    module = sys.modules.get("torch.distributed.distributed_c10d")
    if module is not None:
        _attach_groups(probe, module)


def _attach_groups(probe, module):
    real = getattr(module, "_new_process_group_helper", None)
    if real is None:
        return
    signature = inspect.signature(real)

    def announce(args, kwargs):
        given = signature.bind(*args, **kwargs).arguments
        ranks = given.get("global_ranks_in_group", given.get("group_ranks")) or ()
        size = given.get("group_size", given.get("world_size")) or len(ranks)
        ranks = list(ranks) or list(range(size))
        name = str(given.get("group_desc") or "") or str(given.get("group_name") or "")
        if given.get("group_name") and name != str(given["group_name"]):
            name += f" {given['group_name']}"
        probe.group(name.encode()[:31], (ctypes.c_int32 * len(ranks))(*ranks), len(ranks))

    @functools.wraps(real)
    def helper(*args, **kwargs):
        try:
            announce(args, kwargs)
        except Exception:  # another version's parameters: the group is recorded without its members
            pass
        try:
            return real(*args, **kwargs)
        finally:
            probe.group(None, None, 0)

    module._new_process_group_helper = helper
