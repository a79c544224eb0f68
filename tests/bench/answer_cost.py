"""How long `profwrap mcp` takes for an answer about 1024 ranks x 1000 steps, and its memory, beside the budgets.

    answer_cost.py PROFWRAP [DIR]

Makes and merges the run (minutes), or takes the one in DIR. Asks every question, and the evidence of the first
row of each answer; each several times, because the machine has other things to do, too. The first answer reads
the cluster file and makes the figures; it has no budget.
"""
import os
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "accuracy")]
import mcpclient  # noqa: E402
import measure  # noqa: E402

RANKS, STEPS, TIMES = 1024, 1000, 7
ANSWER_MS, MEMORY_MIB = 100, 300
ARGUMENTS = {"rank": {"rank": 700}, "step": {"step": 500}, "phase": {"phase": "backward"},
             "columns": {"of": "rank"}, "evidence": {"id": "median/phase_trace/700"}}


def make(profwrap, directory):
    measure.run([profwrap, "sim", "-r", str(RANKS), "-s", str(STEPS), "--os-samples", "-f",
                 "slow_rank:rank=700,steps=100-900,phase=backward,percent=20", directory], quiet=True)
    measure.run([profwrap, "merge", "-q", directory], quiet=True)
    return directory


def timed(server, question, arguments):
    """Median time in ms, and the answer."""
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        answer = server.call(question, **arguments)
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times), answer


def memory_mib(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("VmHWM")).split()[1]) / 1024


def ask_all(profwrap, directory):
    server = mcpclient.Server(profwrap, directory)
    began = time.perf_counter()
    server.call("verdict")
    print(f"first answer: {1000 * (time.perf_counter() - began):.0f} ms")
    found = {}
    for tool in server.ask("tools/list")["result"]["tools"]:
        name = tool["name"]
        found[name], answer = timed(server, name, ARGUMENTS.get(name, {}))
        ids = [row["id"] for row in answer.get("rows", ()) if "id" in row]
        if ids:
            found["evidence " + ids[0]], _ = timed(server, "evidence", {"id": ids[0]})
    memory = memory_mib(server.process)
    server.end()
    return found, memory


def main():
    profwrap = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="profwrap-bench-") as where:
        directory = sys.argv[2] if len(sys.argv) > 2 else make(profwrap, os.path.join(where, "run"))
        found, memory = ask_all(profwrap, directory)
    for name, ms in sorted(found.items(), key=lambda one: -one[1])[:8]:
        print(f"{name}: {ms:.2f} ms")
    within = measure.report(f"slowest of {len(found)} answers", max(found.values()), ANSWER_MS, " ms")
    within &= measure.report("largest memory of the server", memory, MEMORY_MIB, " MiB")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
