# SPDX-License-Identifier: Apache-2.0
"""Finds the steps and phases of a training that marks none: the probe's functions that PyTorch's
hooks call (src/collectors/torch/torch_hooks.c).

They are C functions that Python calls like its own. A call through ctypes, or of a small Python
function, would take longer than their work, because its code is not in the CPU's caches.
"""

import ctypes
import weakref

from . import _annotate, _probe

_object, _address = ctypes.py_object, ctypes.c_void_p


# Names of attributes that are read.
_NAMES = ("name_training", "name_num_yielded", "name_task_info", "name_tasks_outstanding")


class _Python(ctypes.Structure):
    """struct python of torch_hooks.c."""

    _fields_ = [
        *((name, _object) for name in ("none", "no", "yes")),
        *(
            (name, _address)
            for name in (
                "Py_IncRef",
                "Py_DecRef",
                "PyObject_SetItem",
                "PyObject_DelItem",
                "PyObject_GetAttr",
                "PyObject_IsTrue",
                "PyLong_AsLongLong",
                "PyObject_Size",
                "PyObject_CallFunctionObjArgs",
                "PyErr_Clear",
            )
        ),
        *((name, _object) for name in _NAMES),
        *((name, _object) for name in ("hooks", "key", "hook")),
        *(
            (name, _object)
            for name in (
                "grad_enabled",
                "is_worker",
                "keep_state",
                "has_changed",
                "found_optimizer",
                "root_changed",
                "report_end",
                "use_iterator",
                "describe_loader",
                "count_ready",
                "report_cost",
            )
        ),
        ("step", _address),
        ("phase", _address),
        ("queue", _address),
        ("marked", _address),
    ]


HOOKS = ("wait", "forward", "backward", "optimizer")


class _Hooks(ctypes.Structure):
    """struct profwrap_hooks of torch_hooks.c."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("attach", ctypes.PYFUNCTYPE(None, ctypes.POINTER(_Python))),
        ("methods", ctypes.POINTER(_probe.Method)),
        ("iterator", _address),
        ("length", ctypes.c_int64),
        ("source", ctypes.c_uint64),
        ("is_described", ctypes.c_int64),
        ("capacity", ctypes.c_int64),
        ("full", ctypes.c_int64),
        ("room", _object),
        ("root", _address),
        ("number", ctypes.c_int64),
        ("needs_mode", ctypes.c_int64),
        ("next_report", ctypes.c_int64),
        ("failures", ctypes.c_int64),
        ("cost_ns", ctypes.c_int64 * len(HOOKS)),
    ]


def find(library=None):
    """Returns the probe's functions and the struct that it shares with Python; None when there is
    no probe with them.
    """
    try:
        shared = _Hooks.in_dll(ctypes.CDLL(library), "profwrap_hooks_v1")
    except (OSError, TypeError, ValueError):
        return None
    return shared if shared.size >= ctypes.sizeof(_Hooks) else None


class Training:
    """The probe's functions as attributes, and what they call in Python, which has few calls: at the
    begin, or where another loader or model is used.

    `hooks[key] = hook` makes the next forward be reported. `is_worker` returns whether this process
    only loads data; `state_of(optimizer)` returns a number that changes when parameters change.
    """

    def __init__(self, shared, hooks, key, hook, *, grad_enabled, is_worker, state_of, **calls):
        self.shared = shared
        self._state_of, self._state = state_of, None
        self._optimizers = {}  # those that exist: weak references by id
        self._root = None
        self._kept = _Python(  # the probe keeps no references
            none=None,
            no=False,
            yes=True,
            name_training="training",
            name_num_yielded="_num_yielded",
            name_task_info="_task_info",
            name_tasks_outstanding="_tasks_outstanding",
            hooks=hooks,
            key=key,
            hook=hook,
            grad_enabled=grad_enabled,
            is_worker=is_worker,
            keep_state=self._keep_state,
            has_changed=self._has_changed,
            found_optimizer=self._found_optimizer,
            root_changed=self._root_changed,
            **{name: ctypes.cast(_probe.calls.pointers[name], _address) for name in ("step", "phase", "queue")},
            marked=ctypes.addressof(_annotate.marked),
            **{
                name: ctypes.cast(getattr(ctypes.pythonapi, name), _address)
                for name, kind in _Python._fields_
                if name.startswith("Py")
            },
            **calls,
        )
        # Functions that PyTorch still has may be called until the process ends, by threads too.
        ctypes.pythonapi.Py_IncRef(_object(self._kept))
        shared.attach(ctypes.byref(self._kept))
        vars(self).update(_probe.functions(shared.methods))

    def detach(self):
        self.end_step()
        self.shared.attach(None)
        self._optimizers.clear()  # or what is called when they are freed is called for the next one
        ctypes.pythonapi.Py_DecRef(_object(self._kept))

    @property
    def number(self):
        return self.shared.number

    def _read_state(self):
        found = [optimizer() for optimizer in self._optimizers.values()]
        return [self._state_of(optimizer) for optimizer in found if optimizer is not None]

    def _keep_state(self):
        self._state = self._read_state()

    def _has_changed(self):
        return self._state != self._read_state()

    def _found_optimizer(self, optimizer):
        key, forget, optimizers = id(optimizer), self.forget, self._optimizers

        def freed(_):
            del optimizers[key]
            forget(key)

        optimizers[key] = weakref.ref(optimizer, freed)

    def _root_changed(self, module):
        key, shared = id(module), self.shared

        def freed(_):
            if shared.root == key:
                shared.root = None

        self._root = weakref.ref(module, freed)
        shared.root = key
