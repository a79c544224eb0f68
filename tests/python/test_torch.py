"""watch() and record_operators(): what a PyTorch training tells the probe, unchanged by that.

--wheel as the first argument runs it by the newest PyTorch of scripts/setup --torch-wheel.
"""

import copy
import io
import threading
import unittest
import unittest.mock
import warnings

import support
from fake_probe import FakeProbe

support.use_wheel_if_asked()
torch = support.require_torch()

import profwrap
import profwrap.torch
from torch import nn

OPS = ("op_begin", "op_end")
TORCH_BEFORE_2_1 = tuple(map(int, torch.__version__.split(".")[:2])) < (2, 1)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        return x + self.inner(x)


class Failing(nn.Module):
    fails = False

    def forward(self, x):
        if self.fails:
            raise KeyError
        return x * 2


def small_model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 4), nn.ReLU(inplace=True), Residual(), nn.Linear(4, 2))


def batches(count=3, **options):
    torch.manual_seed(2)
    data = torch.utils.data.TensorDataset(torch.randn(4 * count, 6), torch.randn(4 * count, 2))
    return torch.utils.data.DataLoader(data, batch_size=4, **options)


def train(model, optimizer, loader):
    losses = []
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


class WatchTest(unittest.TestCase):
    def setUp(self):
        self.probe = FakeProbe()
        self.addCleanup(self.probe.remove)
        self.failures = profwrap.torch.failures()

    def tearDown(self):
        self.assertEqual(profwrap.torch.failures(), self.failures)

    def names(self):
        return [row[:3] for row in self.probe.take_nesting()]

    def test_forward_nests_by_modules(self):
        model = small_model()
        with profwrap.watch(model), torch.no_grad():
            model(torch.randn(4, 6))
        self.assertEqual(
            self.names(),
            [
                (0, "Sequential", "Sequential"),
                (1, "0", "Linear"),
                (1, "1", "ReLU"),
                (1, "2", "Residual"),
                (2, "2.inner", "Linear"),
                (1, "3", "Linear"),
            ],
        )

    def test_backward_of_modules_in_their_order(self):
        model = small_model()
        with profwrap.watch(model):
            model(torch.randn(4, 6)).sum().backward()
        backward = [row for row in self.names() if row[1].endswith(".backward")]
        self.assertEqual([row[0] for row in backward], [0] * len(backward))
        wanted = ["3.backward", "2.inner.backward", "1.backward", "0.backward"]
        if torch.__version__.startswith("1."):
            wanted.remove("1.backward")  # the ReLU in place counts as the module before it
        self.assertEqual([row[1] for row in backward], wanted)

    def test_phases_and_steps_of_a_training(self):
        model = small_model()
        optimizer, loader = sgd(model), batches(2)
        with profwrap.watch(model, optimizer, loader):
            train(model, optimizer, loader)
            with torch.no_grad():
                model.eval()(torch.randn(4, 6))
        step = [("phase", which) for which in (1, 0, 2, 3, 0, 5, 0)]
        self.assertEqual(
            self.probe.take("step", "phase"),
            [("step", 0), *step, ("step", 1), *step, ("step", 2), ("step", profwrap.CANCEL_STEP)],
        )

    def test_steps_marked_by_the_program(self):
        model = small_model()
        optimizer = sgd(model)
        with profwrap.watch(model, optimizer, mark_steps=False):
            train(model, optimizer, batches(2))
        self.assertEqual(self.probe.take("step"), [])

    def test_several_optimizers_count_steps_once(self):
        model = small_model()
        both = [sgd(model[0]), sgd(model[3])]
        with profwrap.watch(model, both):
            model(torch.randn(4, 6)).sum().backward()
            for optimizer in both:
                optimizer.step()
        self.assertEqual(
            self.probe.take("step"), [("step", 0), ("step", 1), ("step", profwrap.CANCEL_STEP)]
        )

    def test_flops_of_each_step(self):
        model = small_model()
        optimizer, loader = sgd(model), batches(2)
        with profwrap.watch(model, optimizer, loader, flops=1e9):
            train(model, optimizer, loader)
        steps = [call for n in range(2) for call in (("step", n), ("flops", 1e9))]
        self.assertEqual(
            self.probe.take("flops", "step"), [*steps, ("step", 2), ("step", profwrap.CANCEL_STEP)]
        )

    def test_evaluation_is_in_no_step(self):
        model = small_model()
        optimizer = sgd(model)
        with profwrap.watch(model, optimizer):
            for _ in range(2):
                train(model, optimizer, batches(1))
                with torch.no_grad():
                    model.eval()(torch.randn(4, 6))
                model.train()
        cancel = profwrap.CANCEL_STEP
        steps = [call[1] for call in self.probe.take("step")]
        self.assertEqual(steps, [0, 1, cancel, 1, 2, cancel])

    @unittest.skipIf(TORCH_BEFORE_2_1, "PyTorch counts FLOPs from 2.1 on")
    def test_counted_flops(self):
        layer = nn.Linear(6, 4, bias=False)
        # 3 x 6 times 6 x 4: 72 multiplications and as many additions.
        self.assertEqual(profwrap.torch.count_flops(layer, torch.randn(3, 6)), 144)

    def test_results_are_the_same(self):
        def losses(watched):
            model = small_model()
            optimizer, loader = sgd(model), batches(4)
            if not watched:
                return train(model, optimizer, loader)
            with profwrap.watch(model, optimizer, loader, operators=True):
                return train(model, optimizer, loader)

        self.assertEqual(losses(True), losses(False))

    def test_queue_of_workers(self):
        model = small_model()
        optimizer, loader = sgd(model), batches(3, num_workers=2)
        with profwrap.watch(model, optimizer, loader):
            train(model, optimizer, loader)
        found = self.probe.take("queue", "step")
        self.assertEqual([call[0] for call in found], ["step", "queue"] * 3 + ["step", "step"])
        for _, name, size, capacity in found[1:6:2]:
            self.assertEqual((name, capacity), ("DataLoader", 4))
            self.assertIn(size, range(5))

    def test_optimizer_and_loader_of_accelerate(self):
        try:
            from accelerate import Accelerator
        except ImportError:
            self.skipTest("accelerate is not installed")
        model = small_model()
        accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
        model, optimizer, loader = accelerator.prepare(model, sgd(model), batches(8))
        with profwrap.watch(model, optimizer, loader):
            for x, y in loader:
                with accelerator.accumulate(model):
                    accelerator.backward(nn.functional.mse_loss(model(x), y))
                    optimizer.step()
                    optimizer.zero_grad()
        self.assertEqual([call[1] for call in self.probe.take("step")], [0, 1, 2, 3, 4, profwrap.CANCEL_STEP])

    def test_only_the_loader_that_is_watched(self):
        model = small_model()
        watched, other = batches(2), batches(2)
        with profwrap.watch(model, loader=watched):
            list(other)
            self.assertEqual(self.probe.take("phase"), [])
            list(watched)
        self.assertEqual(len(self.probe.take("phase")), 4)

    def test_forward_that_raises(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(Failing()), nn.Linear(4, 2))
        watch = profwrap.watch(model)
        Failing.fails = True
        with self.assertRaises(KeyError):
            model(torch.randn(2, 4))
        Failing.fails = False
        model(torch.randn(2, 4))
        watch.close()
        roots = [row for row in self.names() if row[0] == 0]
        self.assertEqual(len(roots), 2)

    def test_forward_that_raises_inside_of_one_that_goes_on(self):
        class Catching(nn.Module):
            def __init__(self):
                super().__init__()
                self.failing = nn.Sequential(Failing())

            def forward(self, x):
                try:
                    self.failing(x)
                except KeyError:
                    pass
                return x

        model = nn.Sequential(Catching(), nn.Tanh())
        self.addCleanup(setattr, Failing, "fails", False)
        Failing.fails = True
        with profwrap.watch(model):
            model(torch.randn(2, 4))
        self.assertEqual(self.names()[-1], (1, "1", "Tanh"))

    def test_module_used_twice_and_shared(self):
        shared = nn.Linear(4, 4)
        model = nn.Sequential(shared, nn.Tanh(), shared)
        with profwrap.watch(model):
            model(torch.randn(2, 4)).sum().backward()
        found = self.names()
        self.assertEqual([row[1] for row in found[:4]], ["Sequential", "0", "1", "0"])
        # The one in the middle has no parameters: the next one's begin is its end.
        backward = [(0, "0.backward"), (0, "1.backward"), (0, "0.backward")]
        self.assertEqual([row[:2] for row in found[4:]], backward)

    def test_outputs_of_any_structure(self):
        class Many(nn.Module):
            def forward(self, x):
                return {"a": [x.detach(), (x * 2,)], "b": None}

        model = nn.Sequential(nn.Linear(4, 4), Many())
        with profwrap.watch(model):
            model(torch.randn(2, 4))["a"][1][0].sum().backward()
        self.assertIn((0, "1.backward", "Many"), self.names())

    def test_recurrent_and_scripted_modules(self):
        model = nn.ModuleDict(
            {"lstm": nn.LSTM(4, 4), "script": torch.jit.script(nn.Sequential(nn.Linear(4, 4)))}
        )
        with profwrap.watch(model):
            model["script"](model["lstm"](torch.randn(3, 2, 4))[0]).sum().backward()
        found = self.names()
        self.assertIn((0, "lstm", "LSTM"), found)
        self.assertIn("lstm.backward", [row[1] for row in found])

    def test_data_parallel_and_threads(self):
        model = nn.DataParallel(small_model())
        with profwrap.watch(model):
            model(torch.randn(4, 6)).sum().backward()
            self.assertIn("module.2.inner", [row[1] for row in self.names()])
            # Replicas are shallow copies that run in threads of their own.
            replica = copy.copy(model.module)
            thread = threading.Thread(target=replica, args=(torch.randn(4, 6),))
            thread.start()
            thread.join()
        self.assertIn("module", [row[1] for row in self.names()])

    def test_activation_checkpointing(self):
        from torch.utils.checkpoint import checkpoint

        model = small_model()
        with profwrap.watch(model):
            x = torch.randn(4, 6, requires_grad=True)
            checkpoint(lambda x: model[2](model[0](x)), x).sum().backward()
        self.assertEqual([row[1] for row in self.names()].count("2.inner"), 2)

    def test_schedulers_before_and_after(self):
        for when in ("before", "after"):
            model = small_model()
            optimizer = sgd(model)
            make = torch.optim.lr_scheduler.StepLR
            scheduler = make(optimizer, 1) if when == "before" else None
            watch = profwrap.watch(model, optimizer)
            scheduler = scheduler or make(optimizer, 1)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                model(torch.randn(4, 6)).sum().backward()
                optimizer.step()
                scheduler.step()
            watch.close()
            self.probe.take()
            optimizer.step()
            self.assertEqual(self.probe.take(), [], when)

    def test_memory_of_devices(self):
        held = {0: 100, 1: 0}

        def stats(device):
            return {"allocated_bytes.all.current": held[device]}

        cuda = {
            "is_available": lambda: True,
            "is_initialized": lambda: True,
            "device_count": lambda: 2,
            "memory_stats": stats,
        }
        memory = profwrap.torch._DeviceMemory()
        with unittest.mock.patch.multiple(torch.cuda, **cuda):
            memory.report()
            held.update({0: 40, 1: 7})
            memory.report()
            memory.report()
        wanted = [("memory", 100, 0), ("memory", -60, 0), ("memory", 7, 1)]
        self.assertEqual(self.probe.take(), wanted)

    def test_optimizer_and_model_can_be_saved(self):
        model = small_model()
        optimizer = sgd(model)
        with profwrap.watch(model, optimizer):
            train(model, optimizer, batches(1))
            torch.save([model.state_dict(), optimizer.state_dict()], io.BytesIO())
            copy.deepcopy(optimizer)

    def test_close_takes_everything_off(self):
        model = small_model()
        optimizer, loader = sgd(model), batches(2)
        before = (torch.autograd.backward, vars(optimizer).get("step"))
        profwrap.watch(model, optimizer, loader, operators=True).close()
        self.assertEqual((torch.autograd.backward, vars(optimizer).get("step")), before)
        self.probe.take()
        train(model, optimizer, loader)
        self.assertEqual(self.probe.take(), [])

    def test_without_profwrap_nothing_is_attached(self):
        self.probe.remove()
        model = small_model()
        backward = torch.autograd.backward
        with profwrap.watch(model, sgd(model), batches(1), operators=True):
            self.assertFalse(any(module._forward_hooks for module in model.modules()))
            self.assertIs(torch.autograd.backward, backward)

    def test_wrong_arguments(self):
        model = small_model()
        for wrong in ((3,), (model, model), (model, None, [1, 2])):
            with self.assertRaises(TypeError):
                profwrap.watch(*wrong)
        with self.assertRaises(ValueError):
            profwrap.watch(model, mark_steps=True)

    def test_failure_is_counted_and_warned_about_once(self):
        def broken(*_):
            raise OSError("full")

        model = small_model()
        with profwrap.watch(model):
            profwrap._probe.calls.op_begin = broken
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                model(torch.randn(4, 6))
                model(torch.randn(4, 6))
        self.assertGreater(profwrap.torch.failures(), self.failures + 1)
        self.failures = profwrap.torch.failures()
        self.assertEqual(sum("full" in str(warning.message) for warning in found), 1)


class OperatorsTest(unittest.TestCase):
    def setUp(self):
        self.probe = FakeProbe()
        self.addCleanup(self.probe.remove)

    def test_names_and_shapes(self):
        a, b = torch.randn(3, 4), torch.randn(4, 5)
        with profwrap.torch.record_operators():
            torch.addmm(torch.zeros(5), a, b)
        rows = {row[1]: row for row in self.probe.take_nesting()}
        self.assertEqual(
            rows["aten::addmm"], (0, "aten::addmm", "aten", "[[5], [3, 4], [4, 5], [], []]")
        )
        with profwrap.torch.record_operators(shapes=False):
            a @ b
        self.assertEqual(self.probe.take_nesting(), [(0, "aten::mm", "aten", None)])

    def test_operator_that_raises(self):
        with profwrap.torch.record_operators():
            with self.assertRaises(RuntimeError):
                torch.mm(torch.randn(3, 4), torch.randn(5, 6))
        self.assertEqual([row[0] for row in self.probe.take_nesting()], [0] * 3)


unittest.main()
