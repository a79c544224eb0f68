"""Typical trainings (trainings/) run unchanged under profwrap. Checks their steps and phases, and
that they compute the same as without profwrap. Uses the newest PyTorch of scripts/setup
--torch-wheel."""

import json
import os
import subprocess
import sys
import unittest

sys.argv[1:2] = []
import support  # noqa: E402

WHEEL = support.wheel_python()
TRAININGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trainings")
MICRO = "data forward backward "
WHOLE = MICRO + "optimizer"

# By that interpreter, which has h5py: steps of a rank file as lists of the phases in them, phases that
# are in no step, and rows of /overhead.
READ = """
import json, sys
import h5py
with h5py.File(sys.argv[1]) as file:
    texts = [text.decode() for text in file["strings"][()]]
    kinds = h5py.check_enum_dtype(file["events/range"].dtype["kind"])
    ranges = [r for r in file["events/range"][()] if r["kind"] == kinds["phase"]]
    steps = file["steps"][()]
    cost = {r["name"].decode(): float(r["value"]) for r in file["overhead"][()]}
    queues = file["samples/queue"][()] if "samples/queue" in file else []
def within(row, time):
    return row["start"] <= time < row["end"]
print(json.dumps({
    "steps": [[int(s["step"]), " ".join(texts[r["name"]] for r in ranges if within(s, r["start"]))]
              for s in steps],
    "outside": [texts[r["name"]] for r in ranges if not any(within(s, r["start"]) for s in steps)],
    "queues": [sum(bool(within(s, q["time"])) for s in steps) for q in queues],
    "cost": cost,
}))
"""


def launch(*command, is_reference=False):
    """Returns the standard output. A failed reference run is only printed, because only its results
    are needed: PyTorch 2.15 without profwrap once aborted when a worker of torchrun ended, after
    all of its output. Under profwrap such an end fails the test."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500)
    if done.returncode and is_reference:
        print(f"without profwrap {command} exited {done.returncode}:\n{done.stderr}")
    elif done.returncode:
        raise AssertionError(f"{command} exited {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class TrainingsTest(support.TempDirTest):
    def train(self, name, ranks=0):
        """Checks that the output under profwrap is the same as without it. Returns the contents of
        the rank files."""
        script, out = os.path.join(TRAININGS, name + ".py"), self.path("out")
        torchrun = [os.path.join(support.WHEEL, "bin", "torchrun"), "--nproc-per-node", str(ranks)]
        launcher = [*torchrun, "--no-python"] if ranks else []
        profwrap = [support.PROFWRAP, "--quiet", "--no-merge", "-o", out]
        plain = self.figures(launch(*launcher, WHEEL, script, is_reference=True))
        self.assertTrue(plain)
        self.assertEqual(self.figures(launch(*launcher, *profwrap, WHEEL, script)), plain)
        found = []
        for rank in range(max(ranks, 1)):
            file = os.path.join(out, f"rank-{rank:05}.h5")
            found.append(json.loads(launch(WHEEL, "-c", READ, file)))
            self.assertEqual(found[-1]["outside"], [])
            self.assertEqual(found[-1]["cost"]["python_failures"], 0)
        return found

    @staticmethod
    def figures(output):
        """The output of a training, without the lines of Hugging Face about times."""
        return [line for line in output.splitlines() if "runtime" not in line]

    def assertSteps(self, found, *steps):
        self.assertEqual(found["steps"], [[n, phases] for n, phases in enumerate(steps)])

    def test_accelerate(self):
        (found,) = self.train("accelerated")
        # It fetches one batch ahead: two before the first, and the last one's is there already.
        middle = [MICRO + WHOLE] * 4
        self.assertSteps(
            found, "data " + MICRO + WHOLE, *middle, MICRO + "forward backward optimizer"
        )

    def test_trainer_of_hugging_face(self):
        (found,) = self.train("trainer")
        self.assertEqual([number for number, _ in found["steps"]], list(range(6)))
        for number, phases in found["steps"]:
            work = phases.split()
            self.assertEqual(work.count("data"), {0: 3, 5: 1}.get(number, 2), number)
            self.assertEqual(work[-5:], ["forward", "backward"] * 2 + ["optimizer"])

    def test_lightning(self):
        if "lightning" not in self.installed():
            self.skipTest("lightning is not in the environment of scripts/setup --torch-wheel")
        (found,) = self.train("lightning_fit")
        self.assertSteps(found, *["data optimizer forward backward optimizer"] * 6)

    @staticmethod
    def installed():
        text = "import importlib.util as u; print(u.find_spec('lightning') and 'lightning')"
        return launch(WHEEL, "-c", text)

    def test_scaler_workers_and_validation(self):
        (found,) = self.train("scaled")
        self.assertSteps(found, *[WHOLE] * 12)
        self.assertEqual(found["queues"], [1] * 12)

    def test_data_parallel_by_torchrun(self):
        for found in self.train("parallel", ranks=2):
            self.assertSteps(found, *[MICRO + WHOLE] * 3)


unittest.main()
