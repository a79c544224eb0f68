"""Finds the steps and phases of trainings without marks, from the order in which their parts
report."""

import gc
import threading
import unittest

import support
from fake_probe import FakeProbe

from profwrap import _annotate, _training

NAMES = {0: "-", 1: "data", 2: "forward", 3: "backward", 5: "optimizer"}


class Part:
    """A module, an optimizer, a scaler, or an iterator over batches."""

    training = True
    _num_yielded = 0


class TrainingTest(unittest.TestCase):
    def setUp(self):
        self.probe = FakeProbe()
        self.addCleanup(self.probe.remove)
        self.addCleanup(setattr, _annotate, "marked", _annotate.marked)
        _annotate.marked = _annotate._Marked()
        self.hooks, self.grad, self.is_worker, self.state = {}, True, False, 0
        self.more, self.source, self.evaluated = True, 1, []
        self.shared = _training.find()
        self.training = _training.Training(
            self.shared, self.hooks, "key", "hook",
            grad_enabled=lambda: self.grad,
            is_worker=lambda: self.is_worker,
            state_of=lambda _: self.state,
            report_end=self.evaluated.append,
            use_iterator=self.use_iterator,
            describe_loader=lambda _: setattr(self.shared, "is_described", True),
            count_ready=lambda _: 0,
            report_cost=lambda: None,
        )
        self.addCleanup(lambda: self.assertEqual(self.shared.failures, 0))
        self.addCleanup(self.training.detach)
        self.model = Part()

    @property
    def armed(self):
        return bool(self.hooks)

    def use_iterator(self, iterator):
        self.shared.length, self.shared.source = int(self.more), self.source

    def optimizers(self, count):
        made = [Part() for _ in range(count)]
        for one in made:
            self.training.created(one)
        return made

    def wait(self, grad=True, more=True, batch=True, source=1):
        self.grad, self.more, self.source = grad, more, source
        waits = self.training.wait_begins(Part())
        self.grad = True
        if waits:
            self.assertFalse(self.armed, "what a data set calls is no forward")
            self.training.wait_ends(batch)
        return waits

    def forward(self, module=None):
        """Calls the hook as PyTorch does: once, if it is armed."""
        if self.armed:
            self.training.forward_begins(module or self.model)

    def evaluate(self, grad=False):
        """A forward in eval() mode, or without gradients."""
        self.model.training, before = False, self.model.training
        self.grad = grad
        self.training.forward_begins(self.model)
        self.model.training, self.grad = before, True
        if self.evaluated:
            self.assertFalse(self.armed)
            self.evaluated.clear()
            self.training.evaluation_ends()

    def backward(self):
        if self.training.backward_begins():
            self.training.backward_ends()

    def micro_batch(self, module=None):
        self.forward(module)
        self.backward()

    def step(self, optimizer):
        self.training.optimizer_begins(optimizer)
        self.training.optimizer_ends(optimizer)

    def told(self):
        """The steps that ended, with their phases. Those that were cancelled are in self.cancelled."""
        ended, self.cancelled, outside = self.probe.take_steps(NAMES)
        self.assertEqual(outside, [])
        return ended

    WHOLE = "data forward backward optimizer"

    def test_plain_loop(self):
        (sgd,) = self.optimizers(1)
        for _ in range(3):
            self.wait()
            self.micro_batch()
            self.step(sgd)
        self.wait(more=False, batch=False)
        self.assertEqual(self.told(), [(n, self.WHOLE) for n in range(3)])

    def test_loop_without_loader(self):
        (sgd,) = self.optimizers(1)
        for _ in range(2):
            self.micro_batch()
            self.step(sgd)
        self.assertEqual(self.told(), [(n, "forward backward optimizer") for n in range(2)])

    def test_gradient_accumulation(self):
        (sgd,) = self.optimizers(1)
        for _ in range(2):
            for _ in range(3):
                self.wait()
                self.micro_batch()
            self.step(sgd)
        micro = "data forward backward "
        self.assertEqual(self.told(), [(n, 3 * micro + "optimizer") for n in range(2)])

    def test_all_batches_of_a_step_first(self):
        (sgd,) = self.optimizers(1)
        for _ in range(2):
            self.wait()
            self.wait()
            self.micro_batch()
            self.micro_batch()
            self.step(sgd)
        wanted = "data data forward backward forward backward optimizer"
        self.assertEqual(self.told(), [(0, wanted), (1, wanted)])

    def test_loader_that_fetches_one_ahead(self):
        (sgd,) = self.optimizers(1)
        self.wait()
        for n in range(3):
            self.wait(more=n < 2, batch=n < 2)
            self.micro_batch()
            self.step(sgd)
        rest = "forward backward optimizer"
        self.assertEqual(
            self.told(), [(0, "data data " + rest), (1, "data " + rest), (2, rest)]
        )

    def test_nothing_before_there_is_an_optimizer(self):
        self.wait()
        self.training.forward_begins(self.model)
        self.backward()
        self.assertEqual(self.probe.take(), [])

    def test_evaluation_between_epochs(self):
        (sgd,) = self.optimizers(1)
        for number in range(2):
            self.wait()
            self.micro_batch()
            self.step(sgd)
            self.assertEqual(self.told(), [(number, self.WHOLE)])
            self.assertEqual(self.probe.open, (number + 1, []), "begins with the end of the one before")
            self.model.training = False
            self.wait(source=2)  # with gradients: the mode tells
            self.assertEqual(self.told(), [])
            self.assertEqual(self.cancelled, [(number + 1, "")])
            self.evaluate()
            self.wait(grad=False, source=2)
            self.assertEqual(self.probe.take(), [])
            self.model.training = True

    def test_evaluation_that_the_forward_tells(self):
        (sgd,) = self.optimizers(1)
        for number in range(2):
            self.micro_batch()
            self.step(sgd)
            self.evaluate()
            self.assertEqual(self.told(), [(number, "forward backward optimizer")])
            self.assertEqual(self.cancelled, [(number + 1, "")])

    def test_end_of_the_training(self):
        """What follows the last step, such as a checkpoint, is in no step."""
        (sgd,) = self.optimizers(1)
        self.micro_batch()
        self.step(sgd)
        self.training.end_step()
        self.assertEqual(self.told(), [(0, "forward backward optimizer")])
        self.assertEqual(self.cancelled, [(1, "")])
        self.assertEqual(self.training.number, 1)

    def test_evaluation_before_the_first_step(self):
        (sgd,) = self.optimizers(1)
        self.wait(grad=False)
        self.evaluate()
        self.assertEqual(self.probe.take(), [])
        self.wait()
        self.micro_batch()
        self.step(sgd)
        self.assertEqual(self.told(), [(0, self.WHOLE)])

    def test_evaluation_before_the_first_step_with_gradients(self):
        sgd = self.optimizers(1)
        self.model.training = False
        for _ in range(3):
            self.wait()
            self.evaluate(grad=True)
        del sgd
        # Only the first wait could be a training's: nothing was known of the model.
        self.assertEqual(self.told(), [])
        self.assertEqual(self.cancelled, [(0, "data")])

    def test_batch_that_is_asked_for_before_the_mode_is_back(self):
        (sgd,) = self.optimizers(1)
        for _ in range(2):
            self.wait()
            self.model.training = True
            self.micro_batch()
            self.step(sgd)
            self.model.training = False
            self.wait(source=2)
        self.assertEqual(self.told(), [(0, self.WHOLE), (1, self.WHOLE)])

    def test_evaluation_with_the_data_of_the_training(self):
        (sgd,) = self.optimizers(1)
        for _ in range(3):
            self.model.training = True
            self.wait()
            self.micro_batch()
            self.step(sgd)
            self.model.training = False
            for _ in range(2):
                self.wait()
                self.evaluate()
        # Only the first time its first wait could be a training's.
        wanted = [self.WHOLE, "data", self.WHOLE, self.WHOLE]
        self.assertEqual(self.told(), list(enumerate(wanted)))

    def test_rest_of_an_epoch_ends_with_the_evaluation(self):
        (sgd,) = self.optimizers(1)
        self.wait()
        self.micro_batch()
        self.wait(grad=False)
        self.wait()
        self.micro_batch()
        self.step(sgd)
        self.assertEqual(self.told(), [(0, "data forward backward"), (1, self.WHOLE)])

    def test_model_that_is_trained_in_evaluation_mode(self):
        (sgd,) = self.optimizers(1)
        self.model.training = False
        for _ in range(3):
            self.wait()
            self.training.forward_begins(self.model)
            if self.evaluated:
                self.training.evaluation_ends()
            self.backward()
            self.step(sgd)
        self.assertFalse(self.shared.needs_mode)
        self.assertEqual([found for _, found in self.told()][-2:], [self.WHOLE] * 2)

    def test_gan_with_a_loader(self):
        first, second = self.optimizers(2)
        for _ in range(2):
            self.wait()
            for optimizer in (first, second):
                self.micro_batch()
                self.step(optimizer)
        wanted = self.WHOLE + " forward backward optimizer"
        self.assertEqual(self.told(), [(0, wanted), (1, wanted)])

    def test_two_optimizers_after_one_backward(self):
        first, second = self.optimizers(2)
        for _ in range(2):
            self.micro_batch()
            self.step(first)
            self.step(second)
        wanted = "forward backward optimizer optimizer"
        self.assertEqual(self.told(), [(0, wanted), (1, wanted)])

    def test_optimizer_that_is_never_used(self):
        unused, sgd = self.optimizers(2)
        for _ in range(3):
            self.wait()
            self.micro_batch()
            self.step(sgd)
        self.assertEqual(self.told(), [(n, self.WHOLE) for n in range(3)])
        del unused

    def test_optimizer_that_is_never_used_without_a_loader(self):
        unused, sgd = self.optimizers(2)
        for _ in range(4):
            self.micro_batch()
            self.step(sgd)
        del unused
        told = self.told()
        self.assertEqual([number for number, _ in told], [0, 1, 2, 3])
        self.assertEqual([found for _, found in told[2:]], ["forward backward optimizer"] * 2)

    def test_optimizers_of_an_earlier_training_are_forgotten(self):
        self.optimizers(3)
        gc.collect()
        (sgd,) = self.optimizers(1)
        self.micro_batch()
        self.step(sgd)
        self.assertEqual(self.told(), [(0, "forward backward optimizer")])

    def test_critic_that_is_trained_more_often(self):
        critic, generator = self.optimizers(2)
        for n in range(12):
            self.wait()
            self.micro_batch()
            self.step(critic)
            if n % 3 == 2:
                self.micro_batch()
                self.step(generator)
        self.wait(more=False, batch=False)
        told = self.told()
        # A step per batch, but for the first generator's, before it was known to be one of several.
        self.assertEqual([found.split().count("data") for _, found in told].count(1), 12)
        self.assertLessEqual(len(told), 13)

    def test_closure_of_lbfgs(self):
        (lbfgs,) = self.optimizers(1)
        for _ in range(2):
            self.wait()
            self.training.optimizer_begins(lbfgs)
            for _ in range(2):
                self.micro_batch()
            self.training.optimizer_ends(lbfgs)
        inner = "forward backward optimizer "
        wanted = ("data optimizer " + 2 * inner).strip()
        self.assertEqual(self.told(), [(0, wanted), (1, wanted)])

    def test_compiled_steps_of_an_optimizer(self):
        sgd = self.optimizers(1)
        for has_loader in (True, False):
            for _ in range(2):
                if has_loader:
                    self.wait()
                self.micro_batch()
                self.state += 1  # nothing tells of the step itself
        self.training.end_step()
        del sgd
        rest = "forward backward"
        self.assertEqual([found for _, found in self.told()], ["data " + rest] * 2 + [rest] * 2)

    def test_scaler_that_skips_a_step(self):
        (sgd,), scaler = self.optimizers(1), Part()
        for skips in (True, False):
            self.wait()
            self.micro_batch()
            self.training.optimizer_begins(sgd, scaler)
            if not skips:
                self.step(sgd)
            self.training.optimizer_ends(sgd, scaler)
        self.assertEqual(self.told(), [(0, self.WHOLE), (1, self.WHOLE)])

    def test_optimizer_inside_of_another(self):
        outer, inner = self.optimizers(2)
        for _ in range(2):
            self.micro_batch()
            self.training.optimizer_begins(outer)
            self.step(inner)
            self.training.optimizer_ends(outer)
        self.assertEqual([number for number, _ in self.told()], [0, 1])

    def test_optimizers_inside_of_backward(self):
        made = self.optimizers(3)
        for _ in range(2):
            self.forward()
            self.training.backward_begins()
            for one in made:
                self.step(one)
            self.training.backward_ends()
        self.assertEqual(self.told(), [(0, "forward backward"), (1, "forward backward")])

    def test_optimizer_that_raised(self):
        (sgd,) = self.optimizers(1)
        self.micro_batch()
        self.training.optimizer_begins(sgd)
        self.micro_batch()
        self.step(sgd)
        self.micro_batch()
        self.step(sgd)
        self.assertEqual([number for number, _ in self.told()], [0, 1])

    def test_checkpointing_calls_modules_in_backward(self):
        (sgd,) = self.optimizers(1)
        self.forward()
        self.training.backward_begins()
        self.training.forward_begins(self.model)
        self.backward()
        self.training.backward_ends()
        self.step(sgd)
        self.assertEqual(self.told(), [(0, "forward backward optimizer")])

    def test_data_of_unknown_length(self):
        (sgd,) = self.optimizers(1)
        for _ in range(2):
            self.wait()
            self.micro_batch()
            self.step(sgd)
            self.wait(batch=False)
        self.training.end_step()
        # The wait that finds the end is in the step that goes on with more data, if one does.
        self.assertEqual(self.told(), [(0, self.WHOLE), (1, "data " + self.WHOLE)])
        self.assertEqual(self.cancelled, [(2, "data")])

    def test_data_end_within_a_step(self):
        """Two micro batches a step, of three: the step that is open has a batch, and counts."""
        (sgd,) = self.optimizers(1)
        self.wait()
        self.micro_batch()
        self.wait()
        self.micro_batch()
        self.step(sgd)
        self.wait()
        self.micro_batch()
        self.wait(batch=False)
        self.assertEqual([number for number, _ in self.told()], [0, 1])
        self.assertEqual(self.cancelled, [])

    def test_batches_fetched_by_another_thread(self):
        (sgd,) = self.optimizers(1)
        self.micro_batch()
        self.step(sgd)
        self.probe.take()
        for call in (self.wait, lambda: self.training.forward_begins(self.model), self.backward):
            thread = threading.Thread(target=call)
            thread.start()
            thread.join()
        self.assertEqual(self.probe.take(), [])

    def test_worker_process_of_a_loader(self):
        sgd = self.optimizers(1)
        self.is_worker = True
        self.wait()
        self.training.forward_begins(self.model)
        self.assertEqual(self.probe.take(), [])
        del sgd

    def test_steps_of_the_program_win(self):
        (sgd,) = self.optimizers(1)
        import profwrap

        profwrap.step(7)
        self.wait()
        self.micro_batch()
        self.step(sgd)
        phases = [("phase", which) for which in (1, 0, 2, 3, 0, 5, 0)]
        self.assertEqual(self.probe.take("step", "phase"), [("step", 7), *phases])

    def test_phases_of_the_program_win(self):
        (sgd,) = self.optimizers(1)
        import profwrap

        self.wait()
        profwrap.phase("forward")
        self.probe.take()
        self.backward()
        self.step(sgd)
        self.assertEqual(self.probe.take("step", "phase"), [("step", 1)])


unittest.main()
