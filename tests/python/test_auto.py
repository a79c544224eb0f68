"""PyTorch instrumented without a change to the training: real torch, a probe of Python functions.

--wheel as the first argument runs it by the newest PyTorch of scripts/setup --torch-wheel.
"""

import copy
import io
import pickle
import sys
import unittest
import warnings

import support
from fake_probe import FakeProbe

support.use_wheel_if_asked()
try:
    import torch
except ImportError:
    support.skip("torch is not installed (scripts/setup --torch)")

import profwrap
from profwrap import _annotate, _auto, _collections, _loader, _pauses
from torch import nn

torch.set_num_threads(1)
VERSION = _auto._version(torch)
NAMES = {1: "data", 2: "forward", 3: "backward", 5: "optimizer"}
WHOLE = "data forward backward optimizer"


def small_model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 2)))


def batches(count=3, **options):
    torch.manual_seed(2)
    data = torch.utils.data.TensorDataset(torch.randn(4 * count, 6), torch.randn(4 * count, 2))
    return torch.utils.data.DataLoader(data, batch_size=4, **options)


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def train(model, optimizer, loader, criterion=nn.functional.mse_loss):
    losses = []
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class AutoTest(unittest.TestCase):
    def setUp(self):
        self.probe = FakeProbe()
        self.addCleanup(self.probe.remove)
        self.addCleanup(setattr, _annotate, "marked", _annotate.marked)
        _annotate.marked = _annotate._Marked()
        self.addCleanup(setattr, _auto, "cost", _auto.cost)
        _auto.cost = _auto._Cost()
        self.failures = 0
        _auto.on_torch(torch)
        self.addCleanup(self.take_off)

    def take_off(self):
        _auto.take_over()
        self.assertEqual(_auto.failures(), self.failures)

    def told(self):
        ended, _, outside = self.probe.take_steps(NAMES)
        self.assertEqual(outside, [])
        return ended

    def assertSteps(self, count, phases=WHOLE):
        self.assertEqual(self.told(), [(n, phases) for n in range(count)])


class LoopsTest(AutoTest):
    def test_plain_loop(self):
        model = small_model()
        train(model, sgd(model), batches(3))
        self.assertSteps(3)

    def test_loss_that_is_a_module(self):
        model = small_model()
        train(model, sgd(model), batches(3), nn.MSELoss())
        self.assertSteps(3)

    def test_without_a_loader(self):
        model = small_model()
        x, y = torch.randn(4, 6), torch.randn(4, 2)
        train(model, sgd(model), [(x, y)] * 3)
        self.assertSteps(3, "forward backward optimizer")

    def test_results_are_the_same(self):
        def losses():
            model = small_model()
            return train(model, torch.optim.Adam(model.parameters()), batches(4))

        recorded = losses()
        _auto.take_over()
        self.assertEqual(recorded, losses())

    def test_gradient_accumulation(self):
        model = small_model()
        optimizer = sgd(model)
        for n, (x, y) in enumerate(batches(4)):
            (nn.functional.mse_loss(model(x), y) / 2).backward()
            if n % 2:
                optimizer.step()
                optimizer.zero_grad()
        micro = "data forward backward "
        self.assertSteps(2, micro + micro + "optimizer")

    def test_evaluation_between_epochs(self):
        model = small_model()
        optimizer = sgd(model)
        for _ in range(2):
            model.train()
            train(model, optimizer, batches(2))
            model.eval()
            for x, _ in batches(3):
                with torch.no_grad():
                    model(x)
        self.assertSteps(4)

    def test_evaluation_in_a_loop_without_loader(self):
        model = small_model()
        optimizer = sgd(model)
        x, y = torch.randn(4, 6), torch.randn(4, 2)
        for _ in range(2):
            train(model, optimizer, [(x, y)] * 2)
            model.eval()
            with torch.no_grad():
                model(x)
                model(x)
            model.train()
        self.assertSteps(4, "forward backward optimizer")

    def test_evaluation_that_raises(self):
        model = small_model()
        optimizer = sgd(model)
        with torch.no_grad(), self.assertRaises(RuntimeError):
            model.eval()(torch.randn(4, 5))
        train(model.train(), optimizer, [(torch.randn(4, 6), torch.randn(4, 2))])
        self.assertSteps(1, "forward backward optimizer")

    def test_gan(self):
        generator, critic = nn.Linear(2, 6), small_model()
        first, second = sgd(critic), sgd(generator)
        for x, y in batches(3):
            critic(x).sum().backward()
            first.step()
            critic(generator(y)).sum().backward()
            second.step()
        self.assertSteps(3, WHOLE + " forward backward optimizer")

    def test_lbfgs(self):
        model = small_model()
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2, max_eval=2)
        for x, y in batches(2):

            def closure():
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(x), y)
                loss.backward()
                return loss

            optimizer.step(closure)
        inner = " forward backward optimizer"
        self.assertSteps(2, "data optimizer" + 2 * inner)

    @unittest.skipIf(VERSION < (2, 3), "scalers work on CPUs from 2.3 on")
    def test_scaler_that_skips(self):
        model = small_model()
        optimizer, scaler = sgd(model), torch.amp.GradScaler("cpu", init_scale=4.0)
        before = copy.deepcopy(model.state_dict())
        for n, (x, y) in enumerate(batches(3)):
            loss = nn.functional.mse_loss(model(x), y) * (float("inf") if n == 0 else 1.0)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            same = torch.equal(before["0.weight"], model[0].weight)
            self.assertEqual(same, n == 0)
        self.assertSteps(3)

    def test_workers_and_their_queue(self):
        model = small_model()
        train(model, sgd(model), batches(3, num_workers=2))
        calls = self.probe.take("step", "queue", "phase", "metadata")
        steps = [n for n, call in enumerate(calls) if call[0] == "step"]
        self.assertEqual(len(steps), 4)  # the last one begins with the end of the training's last
        for n in steps[:3]:
            self.assertEqual(calls[n + 1], ("phase", _annotate.DATA))
        queues = [n for n, call in enumerate(calls) if call[0] == "queue"]
        self.assertEqual(len(queues), 3)
        for n in queues:
            self.assertEqual((calls[n][1], calls[n][3]), ("DataLoader", 4))
            inside = [call for call in calls[:n] if call[0] == "step"][-1]
            self.assertGreaterEqual(inside[1], 0)
        self.assertIn(
            ("metadata", "torch.DataLoader", '{"workers": 2, "prefetch_factor": 2}'), calls
        )

    def test_modules_of_the_data_set_are_no_forward(self):
        class Augmented(torch.utils.data.Dataset):
            layer = nn.Linear(6, 6)

            def __len__(self):
                return 8

            def __getitem__(self, n):
                return self.layer(torch.ones(6)).detach(), torch.ones(2)

        model = small_model()
        optimizer = sgd(model)
        loader = torch.utils.data.DataLoader(Augmented(), batch_size=4)
        train(model, optimizer, loader)
        model.eval()
        for x, _ in torch.utils.data.DataLoader(Augmented(), batch_size=4):
            pass
        self.assertSteps(2)

    def test_activation_checkpointing(self):
        from torch.utils.checkpoint import checkpoint

        model = small_model()
        optimizer = sgd(model)
        for reentrant in (True, False):
            x = torch.randn(4, 6, requires_grad=True)
            checkpoint(model, x, use_reentrant=reentrant).sum().backward()
            optimizer.step()
        found = [phases for _, phases in self.told()]
        # The reentrant kind runs the forward without gradients, and again in backward.
        self.assertEqual(found[1], "forward backward optimizer")
        self.assertEqual(found[0], "backward optimizer")

    def test_inner_modules_have_no_hooks(self):
        seen = []

        class Looking(nn.Module):
            def forward(self, x):
                seen.append(len(nn.modules.module._global_forward_pre_hooks))
                seen.append(len(self._forward_pre_hooks) + len(self._forward_hooks))
                return x

        model = nn.Sequential(nn.Linear(6, 2), Looking())
        train(model, sgd(model), batches(2))
        self.assertEqual(seen, [0] * 4)

    def test_watch_takes_over(self):
        model = small_model()
        optimizer, loader = sgd(model), batches(2)
        train(model, optimizer, loader)
        self.probe.take()
        with profwrap.watch(model, optimizer, loader):
            train(model, optimizer, loader)
        steps = [call[1] for call in self.probe.take("step")]
        cancel = profwrap.CANCEL_STEP  # a step that had begun with the end of the training's last
        self.assertEqual(steps, [cancel, 2, 3, 4, cancel])
        train(model, optimizer, loader)
        self.assertEqual(self.probe.take(), [])

    def test_steps_of_the_program(self):
        model = small_model()
        optimizer, loader = sgd(model), batches(2)
        for _, (x, y) in profwrap.steps(loader):
            train(model, optimizer, [(x, y)])
        steps = [call[1] for call in self.probe.take("step")]
        self.assertEqual(steps, [0, 1, -1, -1])

    def test_everything_can_be_taken_off(self):
        _auto.take_over()

        def state():
            loader = torch.utils.data.dataloader._BaseDataLoaderIter
            scaler = sys.modules.get("torch.amp.grad_scaler") or torch.cuda.amp.grad_scaler
            return (
                loader.__next__,
                torch.autograd.backward,
                torch.optim.Optimizer.__init__,
                scaler.GradScaler.step,
                getattr(nn.Module, "compile", None),
                dict(nn.modules.module._global_forward_pre_hooks),
            )

        before = state()
        _auto.on_torch(torch)
        self.assertNotEqual(state(), before)
        model = small_model()
        train(model, sgd(model), batches(2))
        _auto.take_over()
        self.assertEqual(state(), before)

    def test_failures_are_counted_and_raise_nothing(self):
        def broken(*_):
            raise OSError("full")

        model = small_model()
        optimizer = sgd(model)
        self.addCleanup(setattr, _loader, "length", _loader.length)
        _loader.length = broken
        train(model, optimizer, batches(2))
        _auto.take_over()
        self.assertGreater(_auto.failures(), 0)
        self.failures = _auto.failures()

    def test_cost_is_told(self):
        model = small_model()
        train(model, sgd(model), batches(10))
        told = [call[1:] for call in self.probe.take("metadata") if "overhead" in call[1]]
        hooks = [int(text.split()[0]) for key, text in told if key.endswith(".python_hooks")]
        self.assertIn(len(hooks), (3, 4))  # at steps 1 (when it may be 0), 2, 4 and 8
        self.assertEqual(hooks, sorted(hooks))
        self.assertGreater(hooks[-1], 0)


class ObjectsTest(AutoTest):
    """The program can use its objects as without profwrap."""

    def setUp(self):
        super().setUp()
        self.model = small_model()
        self.optimizer = sgd(self.model)
        train(self.model, self.optimizer, batches(1))

    def test_pickles_and_copies(self):
        text = io.BytesIO()
        torch.save(self.model, text)
        self.assertNotIn(b"profwrap", text.getvalue())
        text = io.BytesIO()
        torch.save(self.optimizer, text)
        self.assertNotIn(b"profwrap", text.getvalue())
        copy.deepcopy(self.model)
        copy.deepcopy(self.optimizer)

    def test_script_and_trace(self):
        torch.jit.script(self.model)(torch.randn(4, 6))
        torch.jit.trace(self.model, torch.randn(4, 6))

    def test_schedulers(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 1)
            train(self.model, self.optimizer, batches(1))
            scheduler.step()

    @unittest.skipIf(VERSION < (2, 1), "export needs 2.1")
    def test_export(self):
        torch.export.export(self.model, (torch.randn(4, 6),))

    def test_scripted_module_is_evaluated_and_trained(self):
        scripted = torch.jit.script(self.model)
        optimizer = sgd(scripted)
        train(scripted, optimizer, batches(1))
        scripted.eval()
        with torch.no_grad():
            scripted(torch.randn(4, 6))
        train(scripted.train(), optimizer, batches(1))


@unittest.skipIf(VERSION < (2, 3), "torch.compile needs 2.3 here")
class PausesTest(AutoTest):
    """With the real functions; what becomes of their times is tested in test_collections.py."""

    def setUp(self):
        super().setUp()
        self.found = []
        ran = _collections.ran
        _collections.ran = lambda kind, began: self.found.append(kind)
        self.addCleanup(setattr, _collections, "ran", ran)

    def test_saving(self):
        file = io.BytesIO()
        torch.save(small_model().state_dict(), file)
        self.assertEqual(self.found, [_pauses.CHECKPOINT])
        file.seek(0)
        self.assertEqual(set(torch.load(file)), set(small_model().state_dict()))
        self.assertIs(pickle.loads(pickle.dumps(torch.save)), torch.save)

    @unittest.skipIf(VERSION < (2, 4), "torch.compile() tells of its compilations since 2.4")
    def test_compiling(self):
        import torch._dynamo

        _pauses.on_dynamo(torch._dynamo)
        compiled = torch.compile(lambda x: x.sin() + 1, backend="eager", dynamic=False)
        x = torch.ones(3)
        self.assertTrue(torch.equal(compiled(x), x.sin() + 1))
        compiled(x)
        self.assertEqual(self.found, [_pauses.COMPILE])
        torch._dynamo.reset()  # which forgets all callbacks
        compiled(x)
        self.assertEqual(self.found, [_pauses.COMPILE] * 2)


class CompileTest(AutoTest):
    """Uses the eager backend: dynamo traces as with other backends, but no compiler is needed."""

    def setUp(self):
        super().setUp()
        torch._dynamo.reset()
        self.model = small_model()
        self.counts = torch._dynamo.utils.counters
        self.counts.clear()

    def assertTracedOnce(self):
        self.assertEqual(dict(self.counts["graph_break"]), {})
        self.assertEqual(self.counts["stats"]["unique_graphs"], 1)

    def test_compiled_model(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            compiled = torch.compile(self.model, backend="eager", fullgraph=True)
            train(compiled, sgd(self.model), batches(3))
        self.assertSteps(3)
        self.assertTracedOnce()

    def test_model_compiled_in_place(self):
        self.model.compile(backend="eager", fullgraph=True)
        optimizer = sgd(self.model)
        train(self.model, optimizer, batches(3))
        self.assertTracedOnce()
        self.model.eval()
        with torch.no_grad():
            self.model(torch.randn(4, 6))
        train(self.model.train(), optimizer, [(torch.randn(4, 6), torch.randn(4, 2))])
        found = self.told()
        self.assertEqual(found[:3], [(n, WHOLE) for n in range(3)])
        self.assertEqual(found[3], (3, "forward backward optimizer"))
        copy.deepcopy(self.model)
        torch.save(self.model, io.BytesIO())

    def test_compiled_parts(self):
        self.model[2].compile(backend="eager", fullgraph=True)
        train(self.model, sgd(self.model), batches(3))
        self.assertSteps(3)
        self.assertTracedOnce()

    def test_compiled_function(self):
        @torch.compile(backend="eager", fullgraph=True)
        def loss_of(x, y):
            return nn.functional.mse_loss(self.model(x), y)

        optimizer = sgd(self.model)
        for x, y in batches(3):
            loss_of(x, y).backward()
            optimizer.step()
            optimizer.zero_grad()
        # Its forward is inside of what was compiled: no phase.
        self.assertSteps(3, "data backward optimizer")
        self.assertTracedOnce()

    def test_compiled_optimizer_step(self):
        optimizer = sgd(self.model)

        @torch.compile(backend="eager")
        def update():
            optimizer.step()

        for x, y in batches(2):
            nn.functional.mse_loss(self.model(x), y).backward()
            update()
        _auto.take_over()
        self.assertSteps(2, "data forward backward")


unittest.main()
