"""MindSpore instrumented without a change to the training: real MindSpore, a probe of Python functions.

Runs by the MindSpore of scripts/setup --mindspore-wheel; skipped without it.
"""

import contextlib
import json
import os
import tempfile
import threading
import time
import unittest
import unittest.mock
import warnings

import support
from fake_probe import FakeProbe

support.use_mindspore()
os.environ.setdefault("GLOG_v", "3")

import mindspore as ms
import mindspore.dataset
import numpy
from mindspore import nn
from profwrap import _annotate, _mindspore, _mindspore_cost, _mindspore_operators, _probe

NAMES = {1: "data", 2: "forward", 3: "backward", 4: "allreduce", 5: "optimizer"}
PYNATIVE = "forward backward optimizer"
GRAPH = "forward"  # all that a graph computes


class Points:
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return numpy.ones(6, numpy.float32), numpy.ones(2, numpy.float32)


def batches():
    data = ms.dataset.GeneratorDataset(Points(), ["x", "y"], shuffle=False, num_parallel_workers=1)
    return data.batch(4)


def known_length():
    data = batches()
    data.get_dataset_size()
    return data


def gradients_of(net, loss, optimizer):
    def forward(x, y):
        return loss(net(x), y)

    return ms.value_and_grad(forward, None, optimizer.parameters)


class MindSporeTest(unittest.TestCase):
    def setUp(self):
        ms.set_device("CPU")
        self.probe = FakeProbe()
        self.addCleanup(self.probe.remove)
        self.addCleanup(setattr, _annotate, "marked", _annotate.marked)
        _annotate.marked = _annotate._Marked()
        self.addCleanup(setattr, _mindspore_cost, "cost", _mindspore_cost.cost)
        _mindspore_cost.cost = _mindspore_cost.Cost()
        _mindspore.on_mindspore(ms)
        self.addCleanup(self.take_off)

    def take_off(self):
        _mindspore.take_over()
        self.assertEqual(_mindspore_cost.cost.failures, 0)

    def told(self):
        """(number, its phases) of each step; self.outside: phases that are in no step."""
        ended, _, self.outside = self.probe.take_steps(NAMES)
        return ended

    def steps(self, phases, count=6, waits=True):
        """The first wait comes before anything is known of it."""
        rest = ("data " if waits else "") + phases
        return [(n, phases if n == 0 else rest) for n in range(count)]

    def model(self):
        net = nn.Dense(6, 2)
        return net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1)

    def each_mode(self):
        for mode, phases in ((ms.PYNATIVE_MODE, PYNATIVE), (ms.GRAPH_MODE, GRAPH)):
            with self.subTest(mode=phases):
                ms.set_context(mode=mode)
                _mindspore.take_over()
                _mindspore.on_mindspore(ms)
                self.probe.take()
                self.probe.open = None
                yield phases

    def test_model_train(self):
        for phases in self.each_mode():
            ms.Model(*self.model()).train(2, known_length(), dataset_sink_mode=False)
            self.assertEqual(self.told(), self.steps(phases))

    def test_an_evaluation_is_in_no_step(self):
        for phases in self.each_mode():
            model = ms.Model(*self.model(), metrics={"mae"})
            model.fit(2, known_length(), known_length(), dataset_sink_mode=False)
            self.assertEqual(self.told(), self.steps(phases))
            evaluation = ["data", "forward"] * 3
            self.assertEqual(self.outside, ["data"] + 2 * evaluation)  # the first wait is in no step, too
            model.eval(known_length(), dataset_sink_mode=False)
            self.assertEqual(self.told(), [])
            self.assertEqual(self.outside, evaluation)
            self.assertEqual(_mindspore._active.steps._phase, _annotate.NO_PHASE)

    def test_train_one_step_cell(self):
        for phases in self.each_mode():
            net, loss, optimizer = self.model()
            step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer)
            step.set_train()
            data = known_length()
            for _ in range(2):
                for x, y in data.create_tuple_iterator():
                    step(x, y)
            self.assertEqual(self.told(), self.steps(phases))

    def test_value_and_grad(self):
        for phases in self.each_mode():
            net, loss, optimizer = self.model()
            gradients = gradients_of(net, loss, optimizer)
            net.set_train()
            data, others = known_length(), known_length()
            for _ in range(2):
                for batch in data.create_dict_iterator():
                    _, found = gradients(batch["x"], batch["y"])
                    optimizer(found)
                for batch in others.create_dict_iterator():
                    net(batch["x"])
            both = PYNATIVE if phases == PYNATIVE else "forward optimizer"
            self.assertEqual(self.told(), self.steps(both))
            self.assertEqual(self.outside, ["data"] * 7)

    def test_data_that_another_thread_waits_for(self):
        """Until it is known which thread trains, the wait of another one hides no phase of it."""
        ms.set_context(mode=ms.PYNATIVE_MODE)
        net, loss, optimizer = self.model()
        gradients = gradients_of(net, loss, optimizer)
        steps = _mindspore._active.steps
        thread = threading.Thread(target=steps.wait_begins, args=(known_length(), True))
        thread.start()
        thread.join()
        optimizer(gradients(ms.ops.ones((4, 6)), ms.ops.ones((4, 2)))[1])
        self.assertEqual(self.told(), self.steps(PYNATIVE, 1))
        self.assertEqual(self.outside, [])

    def test_a_step_that_is_one_function(self):
        ms.set_context(mode=ms.PYNATIVE_MODE)
        net, loss, optimizer = self.model()
        gradients = gradients_of(net, loss, optimizer)
        net.set_train()

        @ms.jit
        def step(x, y):
            value, found = gradients(x, y)
            optimizer(found)
            return value

        for x, y in known_length().create_tuple_iterator():
            step(x, y)
        self.assertEqual(self.told(), self.steps(GRAPH, 3))

    def test_gradient_accumulation(self):
        ms.set_context(mode=ms.PYNATIVE_MODE)
        net, loss, optimizer = self.model()
        gradients = gradients_of(net, loss, optimizer)
        net.set_train()
        sums = None
        data = known_length()
        for n, (x, y) in enumerate(data.create_tuple_iterator(num_epochs=1)):
            _, found = gradients(x, y)
            sums = found if sums is None else [a + b for a, b in zip(sums, found)]
            if n % 3 == 2:
                optimizer(tuple(sums))
        self.assertEqual(
            self.told(), [(0, "forward backward data forward backward data forward backward optimizer")]
        )

    def test_two_optimizers(self):
        ms.set_context(mode=ms.PYNATIVE_MODE)
        net, loss, optimizer = self.model()
        other = nn.SGD(net.trainable_params(), 0.1)
        gradients = gradients_of(net, loss, optimizer)
        net.set_train()
        for x, y in known_length().create_tuple_iterator():
            for one in (optimizer, other):
                one(gradients(x, y)[1])
        self.assertEqual(self.told(), self.steps(PYNATIVE + " " + PYNATIVE, 3))

    def test_a_loop_without_data(self):
        ms.set_context(mode=ms.PYNATIVE_MODE)
        net, loss, optimizer = self.model()
        x, y = ms.ops.ones((4, 6)), ms.ops.ones((4, 2))
        gradients = gradients_of(net, loss, optimizer)
        for _ in range(3):
            optimizer(gradients(x, y)[1])
        self.assertEqual(self.told(), self.steps(PYNATIVE, 3, waits=False))

    def test_exceptions_pass(self):
        ms.set_context(mode=ms.PYNATIVE_MODE)
        net, loss, optimizer = self.model()

        def fails(x):
            raise KeyError("mine")

        with self.assertRaises(KeyError):
            ms.value_and_grad(fails, None, optimizer.parameters)(ms.ops.ones((4, 6)))
        self.probe.take()
        self.test_value_and_grad()

    def test_the_programs_own_steps_are_the_steps(self):
        ms.set_context(mode=ms.PYNATIVE_MODE)
        _annotate.marked.steps = True
        ms.Model(*self.model()).train(1, known_length(), dataset_sink_mode=False)
        self.assertEqual(self.probe.take("step"), [])

    def test_epochs(self):
        ms.set_context(mode=ms.PYNATIVE_MODE)
        ms.Model(*self.model()).train(3, known_length(), dataset_sink_mode=False)
        _mindspore._at_exit()
        told = {key: value for _, key, value in self.probe.take("metadata")}  # the last counts
        self.assertEqual(told["mindspore.epochs"], '{"count": 3, "first_steps": [0, 3, 6]}')

    def test_strategy(self):
        ms.set_context(mode=ms.PYNATIVE_MODE)
        ms.set_auto_parallel_context(gradients_mean=True)
        self.addCleanup(ms.reset_auto_parallel_context)
        ms.Model(*self.model()).train(2, known_length(), dataset_sink_mode=False)
        _mindspore._at_exit()
        told = [value for _, key, value in self.probe.take("metadata") if key == "mindspore.parallel"]
        self.assertEqual(len(told), 1)
        strategy = json.loads(told[0])
        self.assertEqual((strategy["parallel_mode"], strategy["device_num"], strategy["gradients_mean"]),
                         ("stand_alone", 1, True))

    def windows(self, *steps):
        """What start() and stop() were told between which steps' ends."""
        from profwrap.mindspore import ProfilerCallback

        ms.set_context(mode=ms.PYNATIVE_MODE)
        seen, probe = [], self.probe
        probe.take()

        class Note(ms.train.Callback):
            def on_train_step_end(self, run_context):
                seen.extend(name for name, *_ in probe.calls if name in ("start", "stop"))
                probe.calls.clear()
                seen.append(run_context.original_args().cur_step_num)

        callbacks = [Note(), ProfilerCallback(*steps)]
        ms.Model(*self.model()).train(2, known_length(), callbacks, dataset_sink_mode=False)
        return seen + [name for name, *_ in self.probe.calls if name in ("start", "stop")]

    def test_profiler_callback(self):
        self.assertEqual(self.windows(), [1, 2, 3, 4, 5, 6])
        self.assertEqual(self.windows(3, 4), ["stop", 1, 2, "start", 3, 4, "stop", 5, 6, "start"])
        self.assertEqual(self.windows(5), ["stop", 1, 2, 3, 4, "start", 5, 6])
        self.assertEqual(self.windows(None, 2), [1, 2, "stop", 3, 4, 5, 6, "start"])

    def test_profiler_callback_that_marks_steps(self):
        """Where nothing else does: with --no-python."""
        from profwrap.mindspore import ProfilerCallback

        _mindspore.take_over()
        ms.set_context(mode=ms.PYNATIVE_MODE)
        ms.Model(*self.model()).train(1, known_length(), ProfilerCallback(), dataset_sink_mode=False)
        self.assertEqual([step for _, step in self.probe.take("step")], [0, 1, 2, 3, -1])

    def test_profiler_callback_with_steps_that_cannot_be(self):
        from profwrap.mindspore import ProfilerCallback

        for steps in ((0, 3), (3, 2)):
            self.assertRaises(ValueError, ProfilerCallback, *steps)
        self.assertRaises(TypeError, ProfilerCallback, "2")

    def loop_under(self, prof, count=6):
        """What it was told: starts and stops of the recording, and steps, before and after each step."""
        net, loss, optimizer = self.model()
        gradients = gradients_of(net, loss, optimizer)
        x, y = ms.ops.ones((4, 6)), ms.ops.ones((4, 2))
        told = []
        for _ in range(count):
            optimizer(gradients(x, y)[1])
            prof.step()
            told.append([name for name, *_ in self.probe.take("start", "stop")])
        return told

    def test_profile_with_a_schedule(self):
        import profwrap.mindspore as p

        ms.set_context(mode=ms.PYNATIVE_MODE)
        windows = []
        plan = p.schedule(wait=1, warmup=1, active=2, repeat=1)
        with p.profile(schedule=plan, on_trace_ready=windows.append) as prof:
            self.assertEqual([name for name, *_ in self.probe.take("start", "stop")], ["stop"])
            told = self.loop_under(prof)
        self.assertEqual(told[:2], [["stop"], ["start"]])
        self.assertEqual(told[2], [])
        self.assertEqual(told[3][0], "stop")
        self.assertNotIn(["start"], told[3:])
        self.assertEqual([window.steps for window in windows], ["2-3"])

    def test_profiler(self):
        import profwrap.mindspore as p

        ms.set_context(mode=ms.PYNATIVE_MODE)
        prof = p.Profiler(start_profile=False, output_path="./data")
        self.assertEqual([name for name, *_ in self.probe.take("start", "stop")], ["stop"])
        prof.start()
        self.loop_under(prof, 2)
        prof.add_metadata("name", "value")
        prof.add_metadata_json("more", '{"a": 1}')
        self.assertEqual(self.probe.take("metadata"),
                         [("metadata", "name", "value"), ("metadata", "more", '{"a": 1}')])
        prof.analyse()
        self.assertEqual(self.probe.take("start", "stop")[-1], ("stop",))
        prof.analyse()
        self.assertRaises(ValueError, prof.analyse, mode="later")
        self.assertRaises(TypeError, p.profile, activities=["CPU"])

    def test_arguments_without_a_counterpart_warn_once(self):
        from mindspore.profiler import AicoreMetrics, _ExperimentalConfig
        import profwrap.mindspore as p

        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            defaults = dict(activities=[p.ProfilerActivity.CPU], experimental_config=_ExperimentalConfig())
            p.profile(**defaults).stop()
            self.assertEqual(seen, [])
            for _ in range(2):
                p.profile(with_stack=True, activities=[p.ProfilerActivity.NPU]).stop()
                config = _ExperimentalConfig(aic_metrics=AicoreMetrics.PipeUtilization)
                p.profile(experimental_config=config).stop()
                p.Profiler(profiler_level=p.ProfilerLevel.Level1, unknown=3).stop()
        names = [str(one.message).split()[1] for one in seen]
        self.assertEqual(names, ["ProfilerActivity.NPU", "with_stack", "aic_metrics", "profiler_level",
                                 "unknown"])
        self.assertEqual({one.filename for one in seen}, {__file__})

    def check_operators(self, step):
        """What was recorded of `step`, run by our Profiler with op_time in steps 1 and 3."""
        import profwrap.mindspore as p
        from mindspore.profiler.common.profiler_context import ProfilerContext
        from mindspore.profiler.common.profiler_op_analyse import OpAnalyser

        folders, answers, real = [], [], _mindspore_operators.record

        def record(folder):
            folders.append(folder)
            with contextlib.suppress(RuntimeError):  # in PyNative mode it finds few operators
                answers.append(json.loads(OpAnalyser(folder, ProfilerContext().device_id, "ReLU").parse()))
            return real(folder)

        self.addCleanup(setattr, _mindspore_operators, "totals", _mindspore_operators.totals)
        _mindspore_operators.totals = _mindspore_operators.Totals()
        step()
        self.probe.take()
        times = []
        with unittest.mock.patch.object(_mindspore_operators, "record", record):
            plan = p.schedule(wait=1, active=1, repeat=2)
            with p.Profiler(op_time=True, schedule=plan) as prof:
                for _ in range(4):
                    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
                    step()
                    times.append((begin, time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)))
                    prof.step()
        self.assertEqual(len(folders), 2)
        self.assertFalse(any(map(os.path.exists, folders)))
        told = self.probe.take("op_past", "start", "stop")
        is_on, events = True, []
        for name, *values in told:
            if name == "op_past":
                self.assertTrue(is_on)
                events.append(values)
            else:
                is_on = name == "start"
        self.assertGreater(len(events), 20)
        windows = [times[1], times[3]]
        for name, _, _, start, end, *_ in events:
            inside = [w for w in windows if w[0] - 100_000 <= start <= end <= w[1] + 100_000]
            self.assertEqual(len(inside), 1, name)
        kinds = [kind for _, kind, *_ in events]
        self.assertEqual(kinds.count("ReLU"), 2)
        self.assertEqual(kinds.count("MatMul"), 10)  # in each step 2 forward, and 3 backward
        self.assertEqual(kinds.count("SGD"), 8)
        self.check_analysis(prof, answers)
        return events, answers

    def check_analysis(self, prof, answers):
        """Equal to that of MindSpore's own analysis where that finds the operator."""
        (ours,) = json.loads(prof.op_analyse("ReLU"))["ReLU"]
        self.assertEqual(ours["op_occurrences"], 2)
        if answers:
            theirs = [answer["ReLU"][0] for answer in answers]
            self.assertEqual(ours.keys(), theirs[0].keys())
            self.assertAlmostEqual(ours["op_total_time(us)"], sum(one["op_total_time(us)"] for one in theirs),
                                   delta=0.1)
        both = json.loads(prof.op_analyse(["MatMul", "SGD"], 0))
        self.assertEqual(sum(one["op_occurrences"] for one in both["MatMul"]), 10)
        self.assertEqual(both["device_id"], 0)
        self.assertRaisesRegex(RuntimeError, "<Conv2D> is not found", prof.op_analyse, "Conv2D")
        for wrong in ((5,), ([],), ("MatMul", "0")):
            self.assertRaises(TypeError, prof.op_analyse, *wrong)

    def two_layers(self):
        net = nn.SequentialCell(nn.Dense(6, 6), nn.ReLU(), nn.Dense(6, 2))
        return net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1)

    def test_operators_in_graph_mode(self):
        ms.set_context(mode=ms.GRAPH_MODE)
        net, loss, optimizer = self.two_layers()
        cell = nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer)
        cell.set_train()
        x, y = ms.ops.ones((4, 6)), ms.ops.ones((4, 2))
        events, answers = self.check_operators(lambda: cell(x, y).asnumpy())
        self.assertEqual(len(answers), 2)
        shapes = {name.rpartition("/")[2]: shapes for name, _, shapes, *_ in events}
        self.assertEqual(shapes["ReLU-op0"], "[[4, 6]]")

    def test_operators_in_pynative_mode(self):
        ms.set_context(mode=ms.PYNATIVE_MODE)
        net, loss, optimizer = self.two_layers()
        gradients = gradients_of(net, loss, optimizer)
        x, y = ms.ops.ones((4, 6)), ms.ops.ones((4, 2))

        def step():
            optimizer(gradients(x, y)[1])
            for parameter in optimizer.parameters:
                parameter.asnumpy()  # waits

        self.check_operators(step)

    def test_trace_handler_of_mindspores_profiler(self):
        import profwrap.mindspore as p
        from mindspore import profiler

        ms.set_context(mode=ms.PYNATIVE_MODE)
        self.probe.take()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            with profiler.profile(activities=[profiler.ProfilerActivity.CPU],
                                  on_trace_ready=p.trace_handler):
                ms.ops.relu(ms.ops.ones((4, 6))).asnumpy()
            os.chdir("/")
        self.assertIn("ReLU", [kind for _, _, kind, *_ in self.probe.take("op_past")])

    def test_operators_where_the_profiler_fails(self):
        import profwrap.mindspore as p
        from mindspore import profiler

        with unittest.mock.patch.object(profiler, "profile", side_effect=OSError("no")):
            p.Profiler(op_time=True).stop()
        self.assertEqual(_mindspore_cost.cost.failures, 1)
        _mindspore_cost.cost.failures = 0

    def queues(self, slow_data, slow_step):
        """(sizes of the last queue, sizes of the others by name, texts of the metadata by key) of a loop of
        two windows of 6 steps in 20."""
        import profwrap.mindspore as p

        class Slow(Points):
            def __len__(self):
                return 80

            def __getitem__(self, i):
                time.sleep(slow_data)
                return super().__getitem__(i)

        data = ms.dataset.GeneratorDataset(Slow(), ["x", "y"], shuffle=False, num_parallel_workers=1)
        data = data.map(lambda x: x * 2, ["x"], python_multiprocessing=False).batch(4)
        windows, times = [], []
        with p.profile(data_process=True, schedule=p.schedule(wait=4, active=6, repeat=2)) as prof:
            for _ in data.create_tuple_iterator(num_epochs=1):
                time.sleep(slow_step)
                times.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW))
                prof.step()
        told = self.probe.take("queue_past", "metadata", "start", "stop")
        sizes = [one[1:] for one in told if one[0] == "queue_past"]
        for name, size, capacity, at in sizes:
            self.assertTrue(0 <= size <= capacity + 1, (name, size, capacity))
            # MindData's times are whole milliseconds.
            steps = {sum(one > end for end in times) for one in (at - 1_000_000, at)}
            self.assertTrue(steps & {*range(4, 10), *range(14, 20)}, (name, steps))
        others = {}
        for name, size, _, _ in sizes:
            others.setdefault(name, []).append(size)
        metadata = {}
        for one in told:
            if one[0] == "metadata":
                metadata.setdefault(one[1], set()).add(one[2])
        return others.pop("MindData"), others, metadata

    def test_queues_of_slow_data(self):
        last, others, metadata = self.queues(0.03, 0)
        self.assertGreaterEqual(len(last), 10)
        self.assertGreater(last.count(0), len(last) / 2, last)
        self.assertEqual(len(others), 2)
        (pipeline,) = metadata["pipeline"]
        for cpus in metadata["pipeline_cpus"]:  # of each window
            self.assertRegex(cpus, r"^(\d+\.\d{3} ?){3}$")
        self.assertRegex(pipeline, r"^GeneratorOp \[GeneratorOp \d\] MapOp \[MapOp \d\] BatchOp \[MindData\]$")

    def test_queues_of_slow_steps(self):
        last, _, _ = self.queues(0, 0.02)
        self.assertGreaterEqual(len(last), 10)
        self.assertLess(last.count(0), len(last) / 3)

    def test_queues_without_a_pipeline(self):
        import profwrap.mindspore as p

        p.profile(data_process=True).stop()
        _mindspore_cost.cost.failures = 0  # MindData has nothing to save

    def test_mstx(self):
        """Which does nothing on CPUs."""
        from mindspore.profiler import mstx

        self.probe.take()
        outer, inner = mstx.range_start("outer"), mstx.range_start("inner", domain="mine")
        mstx.mark("here")
        mstx.range_end(inner, "mine")
        mstx.range_end(outer)
        told = self.probe.take()
        self.assertEqual([one[:3] for one in told],
                         [("mark", "here", None), ("op_past", "inner", "mstx mine"),
                          ("op_past", "outer", "mstx")])
        _mindspore.take_over()
        self.assertEqual((mstx.range_start("off"), self.probe.take()), (0, []))

    def monitor(self, **settings):
        """A DynamicProfilerMonitor, the function that writes its file, and what it said."""
        import profwrap.mindspore as p

        ms.set_context(mode=ms.PYNATIVE_MODE)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        config, run = os.path.join(folder.name, "config"), os.path.join(folder.name, "run")
        os.mkdir(run)
        said = []
        for patch in (unittest.mock.patch.dict(os.environ, PROFWRAP_DIRECTORY=run),
                      unittest.mock.patch.object(_mindspore, "say", said.append)):
            patch.start()
            self.addCleanup(patch.stop)

        def write(**settings):
            os.makedirs(config, exist_ok=True)
            with open(os.path.join(config, "profiler_config.json"), "w", encoding="utf-8") as file:
                json.dump(settings, file)

        if settings:
            write(**settings)
        self.probe.take()
        return p.DynamicProfilerMonitor(config), write, said

    def test_dynamic_monitor_as_a_callback(self):
        monitor, _, said = self.monitor(start_step=2, stop_step=4)
        seen, probe = [], self.probe

        class Note(ms.train.Callback):
            def on_train_step_end(self, run_context):
                seen.append(([name for name, *_ in probe.take("start", "stop")],
                             run_context.original_args().cur_step_num))

        model = ms.Model(*self.model())
        model.train(2, known_length(), [monitor, Note()], dataset_sink_mode=False)
        self.assertEqual(seen, [(["stop", "start"], 1), ([], 2), ([], 3), (["stop"], 4), ([], 5), ([], 6)])
        self.assertEqual(said, ["DynamicProfilerMonitor records steps 2 to 4 of the file"])

    def test_dynamic_monitor_by_steps(self):
        """As MindSpore's: it begins with call start_step, and ends with call stop_step + 1."""
        monitor, _, _ = self.monitor(start_step=2, stop_step=4)
        told = self.loop_under(monitor, 7)
        self.assertEqual(told, [["stop"], ["start"], [], [], ["stop"], [], []])

    def test_dynamic_monitor_while_it_runs(self):
        monitor, write, said = self.monitor()
        monitor._monitor._poll_s = 0
        with open(monitor._monitor._file._path, encoding="utf-8") as file:
            made = json.load(file)
        self.assertEqual((made["start_step"], made["stop_step"], made["profiler_level"]), (-1, -1, "Level0"))
        self.assertEqual(self.loop_under(monitor, 3), [["stop"], [], []])
        write(start_step=5, stop_step=5, l2_cache=True, profiler_level="Level2", aic_metrics=3, more=1,
              activities=["CPU"], with_stack=False, export_type=["text"])
        self.assertEqual(self.loop_under(monitor, 4), [[], ["start"], ["stop"], []])
        write(start_step=9, stop_step=8, l2_cache=True)
        self.assertEqual(self.loop_under(monitor, 3), [[], [], []])
        self.assertEqual(said, [
            "DynamicProfilerMonitor ignores l2_cache, profiler_level, aic_metrics, more, which have no"
            " effect here (docs/annotate.md)",
            "DynamicProfilerMonitor records step 5 of the file",
            "DynamicProfilerMonitor start_step 9 and stop_step 8 are no window: nothing is changed",
        ])

    def test_dynamic_monitor_lets_no_exception_out(self):
        monitor, write, _ = self.monitor()
        monitor._monitor._poll_s = 0
        with unittest.mock.patch.object(os, "symlink", side_effect=OSError("no")):
            write(start_step=2, stop_step=3)
            monitor.step()
        self.assertEqual(_mindspore_cost.cost.failures, 1)
        _mindspore_cost.cost.failures = 0

    def test_dynamic_monitor_without_profwrap(self):
        import profwrap.mindspore as p

        self.probe.remove()
        with unittest.mock.patch.object(_probe, "calls", _probe.Calls()):
            monitor = p.DynamicProfilerMonitor("/nowhere")
            monitor.step()
        self.assertFalse(os.path.exists("/nowhere"))
        self.assertRaises(TypeError, p.DynamicProfilerMonitor)

    def test_analyse_needs_profwrap(self):
        import profwrap.mindspore as p

        with unittest.mock.patch.dict(os.environ, PATH="/nowhere"):
            self.assertRaisesRegex(FileNotFoundError, "profwrap is not in PATH", p.analyse, "out")
        self.assertRaises(ValueError, p.analyse, "out", step_list=[3, 9])

    def test_taken_off(self):
        before = ms.nn.Cell.compile_and_run, nn.Optimizer.__init__, vars(nn.Optimizer).get("__call__")
        _mindspore.take_over()
        _mindspore.on_mindspore(ms)
        _mindspore.take_over()
        self.assertNotIn("__call__", vars(nn.Optimizer))
        self.assertIsNot(nn.Optimizer.__init__, before[1])
        _mindspore.on_mindspore(ms)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # MindSpore writes files where it runs
        unittest.main(verbosity=2)
