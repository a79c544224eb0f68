"""JSON of other tools, and broken JSON: each must be refused with status 1, without a file, with the tool's
name where it is known. Traces of Kineto with a few such events beside must be imported.

The forms are those of the tools' sources: horovod/common/timeline.cc, tensorflow/python/client/timeline.py,
xla/tsl/profiler (trace_events_to_json.cc), VizTracer, onnxruntime/core/common/profiler.cc, roctracer and
rocprofv3, nsys2json and nsys's lines, unitrace (pti-gpu), Chrome's trace_event, py-spy, NCCL's example
profiler."""
import gzip
import json
import os
import random

import made_traces as traces

OURS = {"otherData": {"job": "12", "command": "a.out"}}


class Foreign:
    def __init__(self, seed, directory):
        self.random = random.Random(f"foreign {seed}")
        self.directory = os.path.join(directory, "in")
        self.count = self.random.randint(2, 60)
        self.text = None
        self.head = {}
        makers = [name for name in dir(self) if name.startswith("of_")]
        self.maker = self.random.choice(makers)
        self.tool = None

    def at(self):
        return self.random.randrange(10 ** 6) + self.random.choice((0, traces.BASE_US))

    def span(self, name, **more):
        return {"ph": "X", "pid": self.random.choice((1, 1234)), "tid": self.random.randrange(9),
                "ts": self.at() + 0.5, "dur": self.random.randrange(1, 500), "name": name, **more}

    def spans(self, names, **more):
        return [self.span(self.random.choice(names), **more) for _ in range(self.count)]

    def process(self, name, pid=1):
        return {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}

    # ---- tools, by name ----

    def of_horovod(self):
        self.tool = "Horovod"
        out = [self.process("DistributedSGD_Allreduce/grad_" + str(self.random.randrange(9)))]
        for i in range(self.count):
            out += [{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 10 * i, "pid": i},
                    {"ph": "E", "ts": 10 * i + 5, "pid": i}]
        if self.random.random() < 0.5:  # Horovod does not close the list
            self.text = "[\n" + ",\n".join(map(json.dumps, out)) + ",\n"
        return out

    def of_jax(self):
        self.tool = "JAX"
        self.head = {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}}
        return [self.process(self.random.choice(("/device:TPU:0", "/device:GPU:0", "/host:CPU")))] + \
            self.spans(("fusion.3", "jit_step(1)", "all-reduce.1"), args={"hlo_op": "fusion.3"})

    def of_tensorflow(self):
        self.tool = "a timeline of TensorFlow"
        return [self.process("/job:localhost/replica:0/task:0/device:GPU:0 Compute")] + \
            self.spans(("MatMul", "NcclAllReduce"), cat="Op", args={"name": "x", "op": "MatMul"})

    def of_viztracer(self):
        self.tool = "VizTracer"
        self.head = {"viztracer_metadata": {"version": "0.16.3", "overflow": False},
                     "file_info": {"files": {}, "functions": {}}}
        return self.spans(("main (/a.py:1)", "torch.mm (/b.py:2)"), cat=self.random.choice(("FEE", "fee")))

    def of_onnx(self):
        self.tool = "ONNX"
        return self.spans(("model_loading_uri",), cat="Session") + \
            self.spans(("Conv_0_kernel_time",), cat="Node") + self.spans(("gemm",), cat="Kernel")

    def of_rocprof(self):
        self.tool = "rocprof"
        if self.random.random() < 0.5:
            self.text = json.dumps({"rocprofiler-sdk-tool": [{"metadata": {"pid": 1}, "buffer_records": {
                "kernel_dispatch": [{"start_timestamp": 1, "end_timestamp": 2}] * self.count}}]})
        return [self.process(self.random.choice(("CPU HIP API", "CPU HSA API")), 2)] + \
            self.spans(("hipLaunchKernel", "Cijk_Ailk_Bljk"), args={"DurationNs": "4000"})

    def of_nsight(self):
        self.tool = "Nsight"
        if self.random.random() < 0.5:
            self.text = "".join(json.dumps({"Type": 79 + i % 3, "CudaEvent": {"startNs": str(i)}}) + "\n"
                                for i in range(self.count))
        return self.spans(("forward", "gemm_kernel"), cat=self.random.choice(("nvtx", "nvtx-kernel")))

    def of_unitrace(self):
        self.tool = "unitrace"
        out = [self.process(self.random.choice(("HOST<pvc-07>", "RANK 3 HOST<pvc-07>")))]
        out += self.spans(("zeCommandListAppendLaunchKernel",), cat="cpu_op")
        out += self.spans(("gemm_kernel[SIMD32]",), cat="gpu_op", args={"id": "12"})
        return out

    def of_megascan(self):
        """As MegatronApp's megatron/training/trace.py writes it, or its aggregate.py."""
        self.tool = "MegaScan"
        if self.random.random() < 0.5:
            return [{"name": "iteration", "ph": "B", "pad_before": 12, "iteration": 1}] + \
                [{"name": "forward", "ph": self.random.choice("BE"), "rel_ts": 10 * i}
                 for i in range(self.count)] + [{"name": "iteration", "ph": "E", "duration_wall": 9}]
        return [{"name": "iteration begin", "cname": "thread_state_unknown", "ph": "i", "ts": 0, "pid": 3,
                 "tid": 1, "args": {"iteration": 10}}] + self.spans(("forward", "recv-warmup"))

    def of_chrome(self):
        self.tool = "Chrome"
        return self.spans(("RunTask", "ThreadPool_RunTask"), cat=self.random.choice(
            ("toplevel", "devtools.timeline,v8", "disabled-by-default-v8.cpu_profiler", "blink.user_timing")))

    def of_ours(self):
        self.tool = "that profwrap exported"
        self.head = OURS
        return self.spans(("MPI_Allreduce", "step 3"))

    # ---- without a known name ----

    def of_nobody(self):
        return self.spans(("a", "b"), **self.random.choice((
            {}, {"cat": "py-spy"}, {"cat": "GROUP_API"}, {"cat": "PERF"}, {"cat": "kernels"}, {"cat": "cpu"},
            {"cat": "gpu"}, {"cat": ""}, {"cat": "ovni"})))

    def of_broken(self):
        whole = json.dumps({"traceEvents": self.spans(("a",), cat="mine")})
        self.text = self.random.choice((
            "", "[", "{", "[]", "{}", "null", "17", "not JSON", "<html></html>", '{"traceEvents": []}',
            '{"traceEvents": 3}', '{"entries": {}}', "\x00\x01\x02", '{"a": 1}\n{"b": 2}\n', "[[[[[[",
            whole[:len(whole) // 2], whole + whole))
        return []

    # ---- of Kineto, with others' events beside ----

    def of_kineto(self):
        self.tool = "kineto"
        out = traces.training(1, 3, 0) + self.spans(("x",), cat=self.random.choice(
            ("FEE", "nvtx", "toplevel", "mine", "Session")))
        self.random.shuffle(out)
        return out

    def files(self):
        events = getattr(self, self.maker)()
        os.makedirs(self.directory)
        text = self.text
        if text is None:
            as_list = not self.head and self.random.random() < 0.4
            text = json.dumps(events if as_list else {**self.head, "traceEvents": events})
        self.path = os.path.join(self.directory, self.random.choice(("timeline.json", "rank-0.json",
                                                                     "nccl_trace_rank_0.json",
                                                                     "t.pt.trace.json.gz")))
        data = text.encode()
        with open(self.path, "wb") as file:
            file.write(gzip.compress(data, 1) if self.path.endswith(".gz") else data)
        return [self.path]

    def check(self, result):
        if self.tool == "kineto":
            return None if result.status == 0 and "ran" in result.text else "refused"
        if result.status != 1:
            return f"{self.maker}: status {result.status}, and a report"
        files = os.listdir(result.directory) if os.path.isdir(result.directory) else []
        if files:
            return f"{self.maker}: left {files}"
        if self.maker == "of_broken":
            return None if os.path.basename(self.path) in result.said else "the file is not named"
        if ("; it is " in result.said) != bool(self.tool) or (self.tool or "") not in result.said:
            return f"{self.maker}: it is of {self.tool}"
        return None


def make(seed, directory):
    foreign = Foreign(seed, directory)
    return foreign.files(), [], foreign.check
