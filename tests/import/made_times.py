"""Traces of trainings in which some times cannot be: the run, the sums of kernels and the first sentence
must be those of the others, and what is left out must be counted by its kind.

The kinds are those that profilers write when a counter of the device is read wrongly: 0; a length of
seconds to hours, though the next kernel of the stream begins; a begin long before the launch; a time hours
away from the trace."""
import os
import random
import re

import h5py
import made_traces as traces

KINDS = {"zero": "begin before their launch", "long": "last beyond the next one on their stream",
         "early": "begin before their launch", "outside": "outside the trace's time",
         "host zero": "without a possible time"}


class Times:
    def __init__(self, seed, directory):
        self.random = random.Random(f"time {seed}")
        self.directory = os.path.join(directory, "in")
        self.world = self.random.randint(2, 5)
        self.steps = self.random.randint(8, 30)
        self.late = self.random.choice((None, self.random.randrange(self.world)))
        self.late_us = 2500
        self.left_out = {rank: dict.fromkeys(KINDS, 0) for rank in range(self.world)}
        self.computed_us = {}  # of each rank: the sum of its kernels that are possible

    def spoil(self, rank, events):
        """Changes some kernels, or adds some, with times that cannot be."""
        out, number = list(events), 10 ** 6
        kernels = [i for i, one in enumerate(out) if one["name"] == "gemm_kernel"]
        chosen = self.random.sample(kernels[:-1], min(self.random.choice((0, 1, 1, 2, 3)),
                                                      len(kernels) // 4))
        for i in chosen:
            kind = self.random.choice(sorted(KINDS))
            at = out[i]["ts"] - traces.BASE_US
            self.left_out[rank][kind] += 1
            number += 1
            if kind == "long":  # of another kernel, beside the one whose place it takes
                length = self.random.choice((20 * 10 ** 3, 3400000, 36 * 10 ** 8))
                out.append(traces.kernel("other_kernel", at - 40, length, number))
                out.append(traces.launch(at - 45, number))
            elif kind == "early":
                out.append(traces.kernel("other_kernel", at - self.random.choice((8000, 300000)), 20,
                                         number))
                out.append(traces.launch(at, number))
            elif kind == "zero":
                out.append({**traces.kernel("other_kernel", 0, 20, number), "ts": 0})
                out.append(traces.launch(at - 45, number))
            elif kind == "outside":
                away = self.random.choice((1, -1)) * self.random.choice((36 * 10 ** 8, 10 ** 10))
                out.append(traces.kernel("other_kernel", away, 20, number))
            else:
                out.append({**traces.event("cudaMalloc", self.random.choice(
                    ("cuda_runtime", "cpu_op")), 0, 5), "ts": 0})
        self.random.shuffle(out)
        return out

    def files(self):
        out = []
        for rank in range(self.world):
            events = traces.training(self.world, self.steps, self.late_us * (rank == self.late))
            self.computed_us[rank] = sum(one["dur"] for one in events if one["name"] == "gemm_kernel")
            out.append(traces.write(os.path.join(self.directory, f"rank-{rank}.json"),
                                    self.spoil(rank, events)))
        return out

    def check_counts(self, result):
        for text in sorted(set(KINDS.values())):
            wanted = sum(ranks[kind] for ranks in self.left_out.values() for kind in KINDS
                         if KINDS[kind] == text)
            lines = [line for line in result.said.splitlines() if text in line and "left out" in line]
            found = sum(int(line.split("left out: ")[1].split()[0]) for line in lines)
            if found != wanted:
                return f"{wanted} {text}, not {found}: {self.left_out}"
        devices = {rank: sum(n for kind, n in kinds.items() if kind != "host zero")
                   for rank, kinds in self.left_out.items()}
        with h5py.File(os.path.join(result.directory, "cluster.h5")) as cluster:
            found = {int(row["rank"]): int(row["count"]) for row in cluster["completeness"]
                     if row["what"] == b"impossible_times"}
            if found != {rank: n for rank, n in devices.items() if n}:
                return f"left out {devices}, and the report has {found}"
            computed = {int(row["rank"]): int(row["compute_ns"]) for row in cluster["gpu_ranks"]}
        wanted = {rank: 1000 * us for rank, us in self.computed_us.items()}
        return None if computed == wanted else f"computing {wanted}, not {computed}"

    def check(self, result):
        if result.status:
            return "refused"
        problem = self.check_counts(result)
        if problem:
            return problem
        if result.report["job"]["run_ns"] != self.steps * traces.STEP_US * 1000:
            return f"ran {result.report['job']['run_ns']} ns"
        if self.late is None:
            return None if re.search("No rank (alone )?held the job back", result.headline) else "no rank is late"
        sentence = f"Rank {self.late} held back {self.steps} of {self.steps} steps by 2.5 ms each"
        return None if result.headline.startswith(sentence) else f"rank {self.late} is late"


def make(seed, directory):
    times = Times(seed, directory)
    return times.files(), [], times.check
