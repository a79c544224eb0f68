"""Files that only their names tell the rank of, as programs and launchers name them: each must be taken for
its rank, or be refused where the name does not say it. Never for another."""
import os
import random
import re

import made_hangs
import made_traces

# What the name is made of: r rank, h host, p process, t time in ns, s step, l local rank. Sources:
# torch.profiler's tensorboard_trace_handler, torchtitan, Megatron, Primus, vLLM, SGLang, HTA, Accelerate.
TOLD = ("rank{r}.json", "rank_{r}.json", "rank-{r}.json.gz", "trace_rank{r}.json", "{h}_rank{r}.json",
        "rank{r}.{t}.pt.trace.json", "rank_{r}.{t}.pt.trace.json.gz", "worker{r}.{t}.pt.trace.json",
        "worker{r}_step_{s}.{t}.pt.trace.json", "exp7_r{r}_s{s}.json", "{t}-rank-{r}.trace.json.gz",
        "primus-megatron-exp[llama2-70b-run1]-rank[{r}].{t}.pt.trace.json", "iteration_{s}/rank{r}_trace.json",
        "rank{r:03d}.json", "profile-{r}.json", "{r}.json", "local_rank_{l}-rank_{r}.json", "{h}/rank{r}.json",
        "dp0_pp0_tp{l}_dcp0_ep0_rank{r}.{t}.pt.trace.json.gz", "Rank{r}_{h}.json", "trace.rank={r}.json",
        "step{s}_rank{r}.json", "profile_trace_rank_{r}.json.gz", "{h}.rank{r}.{p}.json")
NOT_TOLD = ("{h}_{p}.{t}.pt.trace.json", "{h}_{p}.{t}.pt.trace.json.gz", "local_rank_{l}_{p}.json",
            "{h}-step_{s}-{p}.json", "iter{s}_{p}.json")
# Names that people read as the rank, though another number may be meant: right, or refused.
UNCLEAR = ("{t}-TP-{r}.trace.json.gz", "{t}-TP-{r}-DP-0.trace.json.gz", "node{r}.json", "{r}_trace.json",
           "trace_{r}_step{s}.json", "{h}-{r}.json", "gpu{r}.json", "tp{r}_{t}.json")
# PyTorch appends the rank to TORCH_FR_DUMP_TEMP_FILE and TORCH_NCCL_DEBUG_INFO_TEMP_FILE, whatever they are.
DUMPS = ("nccl_trace_rank_{r}", "comm_lib_trace_rank_{r}", "_dump_{r}", "nccl_trace_rank_{h}_{r}",
         "fr-{p}-{r}", "dump{r}", "job{p}_trace_{r}", "{h}/nccl_trace_rank_{r}", "nccl.{h}.{r}",
         "flight_node_{h}_rank_{r}", "x-{s}/{r}")
HOSTS = ("node-a{:02d}", "ip-10-0-0-{}", "gpu{:03d}", "dgx{}", "host{}", "nid{:06d}", "c{}-r3-n1",
         "train-job-worker-x{}")
ROW = re.compile(r"profwrap:     rank (\d+)\s+(.*)")


class Names:
    def __init__(self, seed, directory):
        self.random = random.Random(f"name {seed}")
        self.directory = os.path.join(directory, "in")
        self.kind = self.random.choice(("told", "told", "told", "dumps", "dumps", "not told", "unclear",
                                        "by pid", "pattern"))
        self.world = self.random.randint(2, 8)
        self.rank = self.random.randrange(self.world)  # the slow one, or the missing one
        self.per_host = self.random.choice((1, 2, 4, 8))
        self.host = self.random.choice(HOSTS)
        self.host_at = self.random.randrange(1, 90)
        self.step = self.random.randrange(1, 2000)
        self.process = sorted(self.random.sample(range(3000, 90000), self.world))
        self.options = []
        self.truth = {}

    def name(self, form, rank):
        return form.format(r=rank, h=self.host.format(self.host_at + rank // self.per_host),
                           p=self.process[rank], t=1764380000000000000 + self.random.randrange(10 ** 12),
                           s=self.step, l=rank % self.per_host)

    def traces(self, form):
        out = []
        for rank in range(self.world):
            path = os.path.join(self.directory, self.name(form, rank))
            self.truth[path] = rank
            out.append(made_traces.write(path, made_traces.training(
                self.world, 12, 2500 * (rank == self.rank))))
        return self.shuffled(out)

    def shuffled(self, paths):
        self.random.shuffle(paths)
        return paths

    def files(self):
        if self.kind == "dumps":
            return self.dumps(self.random.choice(DUMPS))
        if self.kind == "not told":
            return self.traces(self.random.choice(NOT_TOLD))
        if self.kind == "unclear":
            return self.traces(self.random.choice(UNCLEAR))
        if self.kind == "by pid":
            self.host = "{}"  # ranks are in the order of hosts and processes
            self.host_at = 10
            self.options = ["--rank-by-pid"]
            return self.traces("host{h}_{p}.{t}.pt.trace.json")
        if self.kind == "pattern":
            self.options = ["--rank-pattern", "-q([0-9]+)x"]
            return self.traces("{h}_{p}-q{r}x{s}.json")
        return self.traces(self.random.choice(TOLD))

    def dumps(self, form):
        """All ranks wait in one operation, which one has not reached."""
        job = made_hangs.Job(1)
        job.random, job.fault, job.world = self.random, "stop", self.world
        job.sizes = {"tp": 1, "dp": self.world, "pp": 1}
        job.make_groups()
        job.make_program()
        job.choose_fault()
        job.faulty, job.stops = [self.rank], {self.rank: len(job.program) // 2}
        job.run()
        self.job = job
        out = []
        for rank, path in enumerate(job.dumps(os.path.dirname(self.directory))):
            to = os.path.join(self.directory, self.name(form, rank) + ".json")
            os.makedirs(os.path.dirname(to), exist_ok=True)
            os.rename(path, to)
            self.truth[to] = rank
            out.append(to)
        return self.shuffled(out)

    def check(self, result):
        refused = result.status == 1 and ("does not say which rank" in result.said or
                                          "in several traces at the same time" in result.said)
        if self.kind == "not told":
            return None if refused else "taken for a rank that the names do not say"
        if self.kind == "unclear" and refused:
            return None
        if result.status:
            return f"refused: {sorted(os.path.relpath(path, self.directory) for path in self.truth)}"
        rows = {name.strip(): int(rank) for rank, name in ROW.findall(result.said)}
        for path, rank in self.truth.items():
            if rows.get(os.path.basename(path), rank) != rank:
                return f"{path} is of rank {rank}"
        if self.kind == "dumps":
            return self.job.check(result)
        late = "2.5 ms each (25 % of a step)"
        return None if result.headline.startswith(f"Rank {self.rank} held back 12 of 12 steps by {late}") or \
            result.headline.startswith(f"Rank {self.rank} on ") and late in result.headline \
            else f"rank {self.rank} is late"


def make(seed, directory):
    names = Names(seed, directory)
    return names.files(), names.options, names.check
