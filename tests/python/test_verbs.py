"""The calls that the verbs make to the probe, which is replaced by one made of Python functions."""

import unittest

from fake_probe import FakeProbe

import profwrap
from profwrap import _probe


class VerbsTest(unittest.TestCase):
    def setUp(self):
        self.probe = FakeProbe()
        self.addCleanup(self.probe.remove)

    def test_op(self):
        with profwrap.op("matmul", "math", [(32, 64), [64, 8], ()]):
            profwrap.op_begin("größe", shapes="any text")
            profwrap.op_end()

        @profwrap.op("f")
        def f():
            return 3

        self.assertEqual(f(), 3)
        self.assertEqual(
            self.probe.take_nesting(),
            [
                (0, "matmul", "math", "[[32, 64], [64, 8], []]"),
                (1, "größe", None, "any text"),
                (0, "f", None, None),
            ],
        )

    def test_op_ends_when_its_block_raises(self):
        with self.assertRaises(KeyError), profwrap.op("a"):
            raise KeyError
        self.assertEqual(self.probe.take(), [("op_begin", "a", None, None), ("op_end",)])

    def test_op_past(self):
        profwrap.op_past("mm", "aten", [[2, 3]], 100, 250, lane=3, alloc_bytes=-8)
        profwrap.op_past("mm", None, None, 0, 0)
        self.assertEqual(
            self.probe.take(),
            [
                ("op_past", "mm", "aten", "[[2, 3]]", 100, 250, 3, -8),
                ("op_past", "mm", None, None, 0, 0, 0, 0),
            ],
        )
        for wrong in ((5, 4), (-1, 4), (0, 2**63)):
            with self.assertRaises(ValueError):
                profwrap.op_past("mm", None, None, *wrong)

    def test_queue_and_memory(self):
        profwrap.queue("batches", 3, 8)
        profwrap.queue("batches", 2)
        profwrap.queue_past("batches", 1, 8, 1000)
        profwrap.memory(-4096, 1)
        profwrap.memory(1 << 40)
        self.assertEqual(
            self.probe.take(),
            [
                ("queue", "batches", 3, 8),
                ("queue", "batches", 2, 0),
                ("queue_past", "batches", 1, 8, 1000),
                ("memory", -4096, 1),
                ("memory", 1 << 40, -1),
            ],
        )

    def test_role_and_work(self):
        profwrap.role("stage 2")
        profwrap.work(4096)
        self.assertEqual(self.probe.take(), [("metadata", "role", "stage 2"), ("work", 4096)])

    def test_mark(self):
        profwrap.mark("epoch 2")
        profwrap.mark("here", "library")
        self.assertEqual(self.probe.take(), [("mark", "epoch 2", None), ("mark", "here", "library")])

    def test_flops(self):
        profwrap.flops(2.5e15)
        profwrap.flops(7)
        self.assertEqual(self.probe.take(), [("flops", 2.5e15), ("flops", 7.0)])

    def test_flops_of_a_transformer(self):
        # 6 x 1000 parameters, and 12 x 2 layers x 4 heads x 8 wide x 16 long, of 10 tokens.
        self.assertEqual(profwrap.transformer_flops(1000, 10), 60000.0)
        attention = {"layers": 2, "heads": 4, "head_size": 8, "length": 16}
        self.assertEqual(profwrap.transformer_flops(1000, 10, **attention), (6000 + 12288) * 10)

    def test_metadata(self):
        profwrap.metadata("model", "resnet50")
        profwrap.metadata("config", {"lr": 0.1, "layers": [1, 2]})
        profwrap.metadata("nothing", None)
        self.assertEqual(
            self.probe.take(),
            [
                ("metadata", "model", "resnet50"),
                ("metadata", "config", '{"lr": 0.1, "layers": [1, 2]}'),
                ("metadata", "nothing", "null"),
            ],
        )

    def test_start_and_stop(self):
        profwrap.stop()
        self.assertFalse(profwrap.active())
        profwrap.start()
        self.assertTrue(profwrap.active())

    def test_steps_of_something_with_a_length(self):
        seen = list(profwrap.steps(["a", "b"], first=5))
        self.assertEqual(seen, [(5, "a"), (6, "b")])
        step = [("phase", 1), ("phase", 0)]
        self.assertEqual(
            self.probe.take(),
            # The last wait, which finds that there is nothing more, is no step.
            [("step", 5), *step, ("step", 6), *step, ("step", -1), ("step", -1)],
        )

    def test_the_end_of_a_generator_is_no_step(self):
        self.assertEqual(list(profwrap.steps(iter("ab"))), [(0, "a"), (1, "b")])
        cancel = profwrap.CANCEL_STEP
        self.assertEqual(self.probe.take("step")[:4], [("step", 0), ("step", 1), ("step", 2), ("step", cancel)])

    def test_steps_of_a_generator_that_raises_or_is_left(self):
        def broken():
            yield 1
            raise KeyError

        with self.assertRaises(KeyError):
            list(profwrap.steps(broken()))
        self.assertEqual(self.probe.take("step"), [("step", 0), ("step", 1), ("step", -1)])
        for _ in profwrap.steps(iter([1, 2])):
            break
        self.assertEqual(self.probe.take("step"), [("step", 0), ("step", -1)])


class OlderProbeTest(unittest.TestCase):
    def check(self, probe, missing):
        self.addCleanup(probe.remove)
        profwrap.step(1)
        with profwrap.op("a"):
            profwrap.queue("q", 1)
        profwrap.metadata("k", "v")
        profwrap.work(1)
        profwrap.flops(1)
        profwrap.stop()
        called = {name for name, *_ in probe.take()}
        self.assertEqual(called & missing, set())
        self.assertIn("step", called)
        self.assertEqual(missing & _probe.calls.present, set())

    def test_what_lies_behind_a_shorter_struct_is_not_called(self):
        later = {"op_begin", "op_end", "queue", "memory", "start", "stop", "metadata", "op_past"}
        later |= {"work", "flops"}
        self.check(FakeProbe(size=_probe._Struct.op_begin.offset), later)

    def test_null_members_are_not_called(self):
        self.check(FakeProbe(without=("start", "stop")), {"start", "stop"})


unittest.main()
