"""Cases of the accuracy benchmark: what each class of faults is drawn from. A case is a function of its
class and seed alone. Seeds below HELD_OUT are to work on; the others are for the nightly bench only."""
import random

HELD_OUT = 1000000
STEP_MS = [5, 10, 20, 40]
NOISES = [0.5, 1, 2, 3, 5]
PHASES = ["data", "forward", "backward", "optimizer"]


def window(draw, steps, least=10):
    """Steps A-B: all steps, half or a fifth of them."""
    length = max(least, draw.choice([steps, steps // 2, steps // 5]))
    first = draw.randrange(steps - length + 1)
    return f"steps={first}-{first + length - 1}"


def share_of_run(draw, run, shares=(0.03, 0.05, 0.1, 0.2, 0.4)):
    """A time in milliseconds, as a share of the run without the fault."""
    return round(draw.choice(shares) * run["steps"] * run["step_ms"])


def stop_window(draw, run):
    """A window of steps, or a time that begins with a step."""
    if draw.random() < 0.5:
        return window(draw, run["steps"])
    first = draw.randrange(run["steps"] * 2 // 3)
    return f"steps={first}-{run['steps'] - 1},for_ms={share_of_run(draw, run, (0.1, 0.2, 0.3))}"


def quota(draw, run):
    return f"quota:rank={run['rank']},share={draw.choice([20, 30, 50, 70])},{stop_window(draw, run)}"


def burners(draw, run):
    return (f"burners:rank={run['rank']},burners={draw.choice([1, 1, 2, 3])},"
            f"slice_ms={draw.choice([3, 4, 8])},{stop_window(draw, run)}")


def at(draw, run):
    """A step, and a time within it."""
    return (f"steps={draw.randrange(run['steps'] * 9 // 10)},"
            f"at_ms={round(draw.random() * run['step_ms'], 2)}")


def sigstop(draw, run):
    return f"sigstop:rank={run['rank']},ms={draw.choice([300, 1000, 2000, 3000, 6000])},{at(draw, run)}"


def sigstops(draw, run):
    every = draw.choice([100, 200, 500])
    return (f"sigstops:rank={run['rank']},every_ms={every},"
            f"ms={round(every * draw.choice([0.1, 0.25, 0.5]))},{stop_window(draw, run)}")


def freeze(draw, run):
    return (f"freeze:host={run['rank'] // run['per_host']},ms={draw.choice([500, 2000, 3000])},"
            f"{at(draw, run)}")


def added(kind, percents=(5, 10, 20, 50, 100)):
    def plan(draw, run):
        return (f"{kind}:rank={run['rank']},phase={draw.choice(PHASES)},"
                f"percent={draw.choice(percents)},{window(draw, run['steps'])}")
    return plan


def stall(draw, run):
    """One stall, or two, of which one is longer."""
    first, second = sorted(draw.sample(range(2, run["steps"] - 2), 2))
    lost = draw.choice([2000, 3000, 4000, 6000])
    one = f"stall:rank={run['rank']},ms={lost},steps={first},phase={draw.choice(PHASES)}"
    if draw.random() < 0.5:
        return one
    return (f"{one};stall:rank={run['rank']},ms={lost // 2},steps={second},"
            f"phase={draw.choice(PHASES)}")


def late(kind):
    def plan(draw, run):
        return f"{kind}:rank={run['rank']},ms={share_of_run(draw, run)}"
    return plan


def checkpoint(draw, run):
    who = f"rank={run['rank']}," if draw.random() < 0.3 else ""
    return f"checkpoint:{who}period={draw.choice([10, 25, 50])},ms={draw.choice([50, 200, 500])}"


def drift(draw, run):
    return f"drift:phase={draw.choice(PHASES[1:3])},percent={draw.choice([10, 20, 50, 100])}"


def slow_all(draw, run):
    length = run["steps"] // 5
    first = draw.randrange(run["steps"] - length + 1)
    return (f"slow_all:steps={first}-{first + length - 1},phase={draw.choice(PHASES[1:3])},"
            f"percent={draw.choice([20, 50, 100])}")


def slow_link(draw, run):
    """A link between hosts: from the last rank of one host to the first rank of the next. They are
    neighbours in a halo and in a ring."""
    host = draw.randrange(1, run["ranks"] // run["per_host"])
    last = host * run["per_host"] - 1
    return (f"slow_link:from={last},to={last + 1},percent={draw.choice([400, 1000, 3000])},"
            f"{window(draw, run['steps'])}")


def congestion(draw, run):
    where = f"host={run['rank'] // run['per_host']}," if draw.random() < 0.5 else ""
    return f"congestion:{where}percent={draw.choice([300, 1000, 3000])},{window(draw, run['steps'])}"


def or_slow(draw, run):
    """Nothing or, in the classes that end with "slow", a slow rank in addition."""
    return added("slow_rank", (20, 50, 100))(draw, run) if run["class"].endswith(" slow") else ""


def none(draw, run):
    return ""


SMALL = [*4 * [added("slow_rank", (20, 50, 100))], added("blocked", (20, 50, 100)), added("disk", (20, 50, 100)),
         quota, burners, sigstop, stall, late("late_start"), late("late_end")]


def small(draw, run):
    """One to three faults at once on different ranks. Their windows are drawn independently, so they
    overlap in part, wholly, or not at all."""
    at_once = min(draw.choice([1, 2, 2, 3]), max(2, run["ranks"] // 2))
    faulty = draw.sample(range(run["ranks"]), at_once)
    return ";".join(draw.choice(SMALL)(draw, {**run, "rank": rank}) for rank in faulty)


def farm(draw, run):
    """A worker that is slow all the time, for half or for a third of it; or none."""
    if draw.random() < 0.3:
        return ""
    length = draw.choice([run["steps"], run["steps"] // 2, run["steps"] // 3])
    first = draw.randrange(run["steps"] - length + 1)
    return (f"{draw.choice(['slow_rank', 'slow_rank', 'blocked'])}:rank={max(1, run['rank'])},phase=forward,"
            f"percent={draw.choice([50, 100, 200])},steps={first}-{first + length - 1}")


CLASSES = {
    "none": none, "slow_rank": added("slow_rank"), "quota": quota, "burners": burners,
    "sigstop": sigstop, "sigstops": sigstops, "freeze": freeze, "disk": added("disk"),
    "page_faults": added("page_faults"), "blocked": added("blocked"), "stall": stall,
    "late_start": late("late_start"), "late_setup": late("late_setup"),
    "late_end": late("late_end"), "checkpoint": checkpoint, "drift": drift, "slow_all": slow_all,
    "slow_link": slow_link, "congestion": congestion,
    **{name + slow: or_slow for slow in ("", " slow")
       for name in ("stages", "experts", "lengths", "overlap", "shared noise")},
    "small": small, "farm": farm,
}
# Not among "all": of farms less is found than the limits ask for (docs/accuracy.md).
APART = ("farm",)

# What a program does between two synchronisations: mostly work, or mostly communication.
PROGRAMS = {
    "data": ["-p", "data", "-c", "2"],
    "data, MPI-bound": ["-p", "data", "-c", "20", "--bytes", "400M"],
    "halo": ["-p", "halo", "-c", "1"],
    "hybrid": ["-p", "hybrid"],
    "halo, no collectives": ["-p", "halo", "-c", "0"],
    "ring, eager": ["-p", "ring", "--message", "4K", "--eager", "64K"],
    "ring, rendezvous": ["-p", "ring", "--message", "1M", "--eager", "64K"],
    "nested": ["-p", "nested", "--inner", "10"],
    "periods": ["-p", "periods"],
    "halo, MPI only": ["-p", "halo", "-c", "1", "--bare"],
    "nested, MPI only": ["-p", "nested", "--inner", "10", "--bare"],
    "ring, MPI only": ["-p", "ring", "--message", "64K", "--bare"],
    "periods, MPI only": ["-p", "periods", "--bare"],
}
FARMS = {"farm, MPI only": ["-p", "farm", "--bare"]}


def stages(draw):
    pipeline, chunks = draw.choice([2, 4]), draw.choice([1, 1, 2])
    return ["-p", "pipeline", "--pipeline", str(pipeline), "--chunks", str(chunks), "--microbatches",
            str(pipeline * draw.choice([1, 2, 4])), "--stage-skew", str(draw.choice([10, 20, 40]))]


def experts(draw):
    return ["-p", "moe", "--routing", draw.choice(["hot", "rotating", "burst"]), "--hot",
            str(draw.choice([30, 100, 300]))]


def lengths(draw):
    return [*draw.choice([["-p", "data"], ["-p", "hybrid"], ["-p", "pipeline"]]), "--lengths",
            str(draw.choice([10, 20, 40]))]


def overlap(draw):
    return ["-p", "data", "-c", str(draw.choice([2, 4, 8])), "--bytes", draw.choice(["4M", "32M"]),
            "--overlap", str(draw.choice([30, 60, 90]))]


def shared_noise(draw):
    return [*draw.choice([["-p", "data"], ["-p", "halo"], ["-p", "hybrid"]]), *draw.choice([
        ["--host-noise", "5"], ["--rack-noise", "5"], ["--host-noise", "3", "--rack-noise", "3"],
        ["--bursts-ms", "10"], ["--gc-ms", "10"], ["--bursts-ms", "5", "--gc-ms", "5"]])]


# Programs whose options are drawn, too; in half of the cases they tell their roles and amounts.
DRAWN = {"stages": stages, "experts": experts, "lengths": lengths, "overlap": overlap,
         "shared noise": shared_noise}

# Elsewhere a slow link is hidden in collectives, which use all links.
PROGRAMS_OF = {"slow_link": [name for name in PROGRAMS if name.startswith("ring")],
               # hybrid needs four ranks for each replica
               "small": [name for name in PROGRAMS if name != "hybrid"],
               "farm": list(FARMS)}
RANKS_OF = {"small": [2, 3, 4, 4, 6], "farm": [4, 4, 5, 6, 8]}


def plan(name, seed):
    """Case `seed` of class `name`: the options of `profwrap sim`, and the drawn properties."""
    draw = random.Random(f"{name} {seed}")
    drawn = name.removesuffix(" slow")
    run = {"class": name, "seed": seed, "program":
           drawn if drawn in DRAWN else draw.choice(PROGRAMS_OF.get(name) or list(PROGRAMS)),
           "ranks": draw.choice(RANKS_OF.get(name) or [4, 8, 8, 16, 16, 32, 64]), "noise": draw.choice(NOISES),
           "steps": draw.choice([60, 100, 200]), "step_ms": draw.choice(STEP_MS)}
    run["per_host"] = 2 if run["ranks"] == 4 else draw.choice([2, 4]) if run["ranks"] <= 16 else 8
    if name in RANKS_OF:
        run["per_host"] = draw.choice([run["ranks"], run["ranks"], 1])
    run["rank"] = draw.randrange(run["ranks"])
    program = {**PROGRAMS, **FARMS}[run["program"]] if drawn not in DRAWN else [
        *DRAWN[drawn](draw), *draw.choice([[], ["--tell-roles"]])]
    run["faults"] = CLASSES[name](draw, run)
    run["options"] = [
        *program, "-r", str(run["ranks"]), "-s", str(run["steps"]), "-n",
        str(run["noise"]), "--step-us", str(1000 * run["step_ms"]), "--ranks-per-host",
        str(run["per_host"]), "--seed", str(seed), "--os-samples", "--ends-ms", "200", "-f",
        run["faults"]]
    return run
