"""A stand-in for PyTorch, for the test of validate.sh on a machine without a GPU: as much of it as
with_torch.py uses, over ../torch.c."""
import ctypes
import os
import time
import types

_C = ctypes.CDLL(os.path.join(os.environ["STANDIN_LIBRARIES"], "libstandin_torch.so"))
_C.torch_kernel.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
_C.torch_nccl_allreduce.argtypes = [ctypes.c_size_t]
__version__ = "stand-in"


def _begin():
    if not _begin.done and _C.torch_start():
        raise RuntimeError("the stand-in for CUDA does not start")
    _begin.done = True


_begin.done = False


class Tensor:
    def __init__(self, elements, of=None):
        self.elements = elements
        self.of = of  # the model that it came from

    def __matmul__(self, other):
        _C.torch_kernel(b"gemm", 100000)
        return self

    def clamp(self, max):
        _C.torch_kernel(b"clamp", 5000)
        return self

    def sum(self):
        _C.torch_kernel(b"reduce", 5000)
        return self

    def backward(self):
        self.of.backward()


def ones(*shape, device):
    assert device == "cuda"
    _begin()
    _C.torch_kernel(b"fill", 5000)
    elements = 1
    for n in shape:
        elements *= n
    return Tensor(elements)


def _push(name):
    if os.environ.get("STANDIN_FAULT") == "even" and os.environ.get("RANK") == "0":
        time.sleep(0.05)  # as late as the other
    _C.torch_range_push(name.encode())


cuda = types.SimpleNamespace(
    is_available=lambda: True, synchronize=_C.torch_synchronize, set_device=lambda n: _begin(),
    nvtx=types.SimpleNamespace(range_push=_push, range_pop=_C.torch_range_pop))
autograd = types.SimpleNamespace(DeviceType=types.SimpleNamespace(CUDA="cuda"))


class _Profile:
    def __init__(self, activities):
        self.seen = 0

    def __enter__(self):
        assert _C.torch_profiler_begin() == 0
        return self

    def __exit__(self, *error):
        self.seen = _C.torch_profiler_end()

    def toggle_collection_dynamic(self, enable, activities):
        assert not enable
        _C.torch_profiler_pause()

    def events(self):
        return [types.SimpleNamespace(device_type="cuda")] * self.seen


profiler = types.SimpleNamespace(profile=_Profile,
                                 ProfilerActivity=types.SimpleNamespace(CUDA="cuda"))


# ---- as much of torch.nn and torch.optim as a small model takes ----

class _Linear:
    def __init__(self, inputs, outputs):
        self.elements = inputs * outputs

    def __call__(self, data):
        _C.torch_kernel(b"gemm", 20000)
        return Tensor(data.elements, self)

    def backward(self):
        _C.torch_kernel(b"gemm", 20000)


class _Sequential:
    def __init__(self, *layers):
        self.layers = layers

    def cuda(self):
        return self

    def __call__(self, data):
        for layer in self.layers:
            data = layer(data)
        return Tensor(data.elements, self)

    def backward(self):
        for layer in reversed(self.layers):
            layer.backward()


class _Parallel:
    """One bucket: its allreduce begins as the last gradient is there."""

    def __init__(self, model):
        self.model = model

    def parameters(self):
        return self.model.layers

    def __call__(self, data):
        return Tensor(self.model(data).elements, self)

    def backward(self):
        self.model.backward()
        _C.torch_nccl_allreduce(sum(layer.elements for layer in self.model.layers))


class _SGD:
    def __init__(self, layers, lr):
        self.layers = layers

    def step(self):
        for _ in self.layers:
            _C.torch_kernel(b"axpy", 5000)

    def zero_grad(self):
        pass


nn = types.SimpleNamespace(Linear=_Linear, Sequential=_Sequential,
                           parallel=types.SimpleNamespace(DistributedDataParallel=_Parallel))
optim = types.SimpleNamespace(SGD=_SGD)
