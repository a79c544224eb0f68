"""The published rules by which other tools name slow ranks, hosts and links, written anew from what
they publish (README.md has the sources). Each is a function of what that tool would see of the run
(seen.py), and returns what it names, the worst first. Only the rules: no tool's code, and none of
what a tool does beside them."""
import math

import numpy as np

REPORT_STEPS = 20  # of NVRx and DLRover, which go by the time: here every so many steps
NVRX = 0.75  # identify_stragglers; the callback's example has 0.7
DLROVER = 2.0
MEGATRON_STEPS = 100  # --log-interval
TRACEML, TRACEML_STEPS = 0.10, 50
HTA_RANKS, HTA_SHARE = 2, 0.01
GREYHOUND, CHANGE, WAIT_STEPS = 0.10, 0.9, 10


def rank(number):
    return {"scope": "rank", "rank": int(number)}


def worst_first(scores):
    """The ranks by their scores, the highest first. Of equal scores the lowest rank comes first."""
    return [rank(r) for r, _ in sorted(scores.items(), key=lambda item: (-item[1], item[0]))]


def windows(steps, length):
    """The first and last step of each window of `length` steps. The last window also has the
    remaining steps."""
    count = max(1, steps // length)
    return [(n * length, steps if n == count - 1 else (n + 1) * length) for n in range(count)]


# NVRx: a score is a reference time by the median time; the reference is the least median of all
# ranks, or of the rank's own reports until now.

def medians(seen, first, last):
    """For each rank and section: the median wall time, the median work, and the sum of the work.
    Sections that only communicate are left out, because no tool marks them, and NCCL's kernels are
    left out."""
    found = []
    for sections in seen.sections:
        mine = {}
        for name, one in sections.items():
            inside = (one.step >= first) & (one.step < last)
            if inside.any() and name != "allreduce":
                work = one.work[inside]
                mine[name] = (float(np.median(one.wall[inside])), float(np.median(work)),
                              float(work.sum()))
        found.append(mine)
    return found


def of_all_ranks(found, which):
    """The least median of each section that every rank has."""
    common = set.intersection(*(set(mine) for mine in found)) if found else set()
    return {name: min(mine[name][which] for mine in found) for name in common}


def ratio(reference, value):
    return reference / value if value > 0 else 1.0


def gpu_score(mine, reference):
    """The mean of the kernels' scores, weighted by their time. The work of a section stands for its
    kernels."""
    weights = {name: mine[name][2] for name in reference if name in mine}
    total = sum(weights.values())
    return sum(ratio(reference[name], mine[name][1]) * weight
               for name, weight in weights.items()) / total if total else 1.0


def nvrx_scores(found, history):
    """The lowest of each rank's scores in a report: GPU and sections, relative and individual."""
    wall, work = of_all_ranks(found, 0), of_all_ranks(found, 1)
    scores = []
    for mine, best in zip(found, history):
        for name, (wall_ns, work_ns, _) in mine.items():
            kept = best.get(name, (wall_ns, work_ns))
            best[name] = (min(kept[0], wall_ns), min(kept[1], work_ns))
        scores.append(min([gpu_score(mine, work),
                           gpu_score(mine, {name: best[name][1] for name in mine}),
                           *(ratio(wall[name], mine[name][0]) for name in wall),
                           *(ratio(best[name][0], mine[name][0]) for name in mine)]))
    return scores


def nvrx(seen, threshold=NVRX):
    if not seen.marked:
        return []
    lowest, everybody = {}, False
    history = [{} for _ in range(seen.ranks)]
    for first, last in windows(seen.steps, REPORT_STEPS):
        scores = nvrx_scores(medians(seen, first, last), history)
        flagged = {r: score for r, score in enumerate(scores) if score < threshold}
        if len(flagged) == seen.ranks:
            everybody = True
            continue
        for r, score in flagged.items():
            lowest[r] = min(score, lowest.get(r, 1))
    named = worst_first({r: -score for r, score in lowest.items()})
    return named or ([{"scope": "all"}] if everybody else [])


# DLRover: each node is timed in two rounds of a benchmark; one that needs more than twice the
# median of the nodes' better rounds is a straggler. The work of 10 steps stands for a round.

def dlrover(seen):
    nodes = list(dict.fromkeys(seen.hosts))
    found = {}
    for first, last in windows(seen.steps, REPORT_STEPS):
        half = (first + last) // 2
        rounds = [seen.work[:, first:half].sum(axis=1), seen.work[:, half:last].sum(axis=1)]
        times = {node: min(max(one[r] for r, host in enumerate(seen.hosts) if host == node)
                           for one in rounds) for node in nodes}
        middle = float(np.median(list(times.values())))
        for node, time in times.items():
            if time > DLROVER * middle:
                found[node] = max(time / middle if middle else np.inf, found.get(node, 0))
    return [{"scope": "host", "host": node}
            for node, _ in sorted(found.items(), key=lambda item: (-item[1], item[0]))]


# Megatron-LM: prints of every interval the rank of the longest forward time (which is also that of
# the least throughput) and that of the longest get_batch. It has no threshold.

def megatron(seen):
    if not seen.marked:
        return []
    forward, data = seen.total("forward"), seen.total("data")
    scores = {}
    for first, last in windows(seen.steps, MEGATRON_STEPS):
        for times in (forward[:, first:last].mean(axis=1), data[:, first:last].max(axis=1)):
            r = int(np.argmax(times))
            scores[r] = max(scores.get(r, 0), 1 / max(ratio(float(np.median(times)), times[r]), 1e-9))
    return worst_first(scores)


# TraceML: a rank's mean step without the part of its backward that others' delay explains; the
# worst one's excess over the median, as a share of a step.

def traceml(seen):
    if not seen.marked or seen.ranks < 2 or seen.steps < TRACEML_STEPS:
        return []
    step = (seen.end - seen.start).mean(axis=1)
    names = {name for sections in seen.sections for name in sections}
    rest = seen.work.mean(axis=1) - sum(seen.total(name, "work").mean(axis=1) for name in names)
    others = np.maximum(rest, 0) + sum(seen.total(name).mean(axis=1)
                                       for name in ("data", "forward", "optimizer"))
    # What is left: PyTorch's DDP communicates during backward.
    backward = np.maximum(step - others, 0)
    clean = others + np.maximum(backward - (others.max() - others), 0)
    score = (clean.max() - np.median(clean)) / np.median(step)
    return [rank(np.argmax(clean))] if score >= TRACEML else []


# HTA: the last long communication kernel of each iteration, of the kind whose duration differs most
# between ranks; the ranks that start theirs last, two in each iteration, the most frequent two.

def long_calls(seen, least):
    """{(comm, op): {step: {rank: (start, duration)}}}, with the last call in each step."""
    found = {}
    for r, calls in enumerate(seen.calls):
        step = np.searchsorted(seen.start[r], calls.start, side="right") - 1
        for n in np.flatnonzero((calls.end - calls.start >= least) & (step > 0)):
            one = found.setdefault((int(calls.comm[n]), calls.op[n]), {})
            one.setdefault(int(step[n]), {})[r] = (calls.start[n], calls.end[n] - calls.start[n])
    return found


def spread(steps):
    """The deviation of the durations between ranks, as a mean over the steps."""
    each = [np.std([duration for _, duration in of.values()], ddof=1)
            for of in steps.values() if len(of) > 1]
    return float(np.mean(each)) if each else -1.0


def hta(seen, least=HTA_SHARE):
    if not seen.marked or not seen.steps:
        return []
    mean_step = (seen.end.max() - seen.start.min()) / seen.steps
    kinds = long_calls(seen, least * mean_step)
    if not kinds:
        return []
    counts = {}
    for of in kinds[max(kinds, key=lambda kind: spread(kinds[kind]))].values():
        latest = sorted((start for start, _ in of.values()), reverse=True)
        limit = latest[min(HTA_RANKS, len(latest)) - 1]
        for r, (start, _) in of.items():
            counts[r] = counts.get(r, 0) + (start >= limit)
    return worst_first({r: n for r, n in counts.items() if n})[:HTA_RANKS]


# Greyhound (Falcon): change points of the iterations' times; in slow stretches the groups whose
# calls take 10 % more than those of comparable groups; in these the workers and links that a
# benchmark finds slow. A rank's work, a link's transfers against the rest of the run stand for it.

def change_points(series, hazard=1 / 250):
    """Adams and MacKay's online detection (arXiv 0710.3742), for normal data of unknown mean and
    variance. A time t is a change point if, at most 10 values later, a run that began at t has a
    probability above 0.9."""
    x = np.asarray(series, dtype=float) / np.median(series)
    mean, kappa, alpha, beta = (np.array([v]) for v in (1.0, 1.0, 1.0, 0.05 ** 2))
    chance, found = np.array([1.0]), set()
    for now, value in enumerate(x):
        scale = beta * (kappa + 1) / kappa
        gamma = np.array([math.lgamma(a + 0.5) - math.lgamma(a) for a in alpha])
        likely = np.exp(gamma - 0.5 * np.log(2 * np.pi * scale) -
                        (alpha + 0.5) * np.log1p((value - mean) ** 2 / (2 * scale)))
        new = np.concatenate(([np.sum(chance * likely) * hazard], chance * likely * (1 - hazard)))
        # A run of length 0 after this value has not seen it: it begins with the next one.
        chance = new / new.sum()
        beta = np.concatenate(([0.05 ** 2], beta + kappa * (value - mean) ** 2 / (2 * (kappa + 1))))
        mean = np.concatenate(([1.0], (kappa * mean + value) / (kappa + 1)))
        kappa, alpha = np.concatenate(([1.0], kappa + 1)), np.concatenate(([1.0], alpha + 0.5))
        for length in range(1, min(WAIT_STEPS, now) + 1):
            if chance[length] > CHANGE and now + 1 - length > 0:
                found.add(now + 1 - length)
    return sorted(found)


def slow_steps(series):
    """The steps between a change for the worse by 10 % or more and the change back."""
    bounds = [0, *change_points(series), len(series)]
    means = [float(np.mean(series[a:b])) for a, b in zip(bounds, bounds[1:])]
    slow, normal = np.zeros(len(series), dtype=bool), means[0]
    for a, b, mean in zip(bounds[1:], bounds[2:], means[1:]):
        if mean >= (1 + GREYHOUND) * normal:
            slow[a:b] = True
        else:
            normal = mean
    return slow


def suspicious(seen, slow):
    """The ranks of groups whose calls take 10 % longer than the median of comparable groups; all
    ranks, if no group has a comparable one."""
    times = {}
    for r, calls in enumerate(seen.calls):
        step = np.clip(np.searchsorted(seen.start[r], calls.start, side="right") - 1, 0, None)
        for n in np.flatnonzero(slow[np.minimum(step, len(slow) - 1)] & (calls.peer < 0)):
            group = tuple(seen.members[r].get(int(calls.comm[n]), ()))
            cluster = times.setdefault((calls.op[n], int(calls.bytes[n]), len(group)), {})
            cluster.setdefault(group, []).append(calls.end[n] - calls.start[n])
    ranks, compared = set(), False
    for cluster in times.values():
        means = {group: np.mean(of) for group, of in cluster.items()}
        if len(means) > 1:
            compared = True
            middle = np.median(list(means.values()))
            ranks.update(*(g for g, mean in means.items() if mean > (1 + GREYHOUND) * middle))
    return ranks if compared else set(range(seen.ranks))


def transfers(seen):
    """{(from, to): [(step, duration)]}. A transfer lasts from when both ends have begun until the
    message is received."""
    sends, found = {}, {}
    for r, calls in enumerate(seen.calls):
        for n in [n for n, op in enumerate(calls.op) if op in ("Send", "Isend")]:
            sends.setdefault((r, int(calls.peer[n]), int(calls.tag[n])), []).append(calls.start[n])
    for r, calls in enumerate(seen.calls):
        taken = {}
        step = np.searchsorted(seen.start[r], calls.start, side="right") - 1
        for n in [n for n, op in enumerate(calls.op) if op in ("Recv", "Irecv")]:
            key = (int(calls.peer[n]), r, int(calls.tag[n]))
            number = taken[key] = taken.get(key, -1) + 1
            if number < len(sends.get(key, ())):
                began = max(calls.start[n], sends[key][number])
                found.setdefault(key[:2], []).append((step[n], calls.end[n] - began))
    return found


def slowdowns(pairs, slow):
    """{key: mean in slow steps / mean in other steps}, of {key: [(step, time)]}."""
    found = {}
    for key, of in pairs.items():
        step, time = np.array(of).T
        hit = slow[np.clip(step.astype(int), 0, len(slow) - 1)]
        if hit.any() and not hit.all() and time[~hit].mean() > 0:
            found[key] = time[hit].mean() / time[~hit].mean()
    return found


def above(values):
    """The keys whose value is 10 % above the median, the highest first."""
    limit = (1 + GREYHOUND) * np.median(list(values.values())) if values else 0
    return sorted((k for k, v in values.items() if v > limit), key=lambda k: (-values[k], k))


def greyhound(seen):
    if seen.steps < 4:
        return []
    slow = slow_steps(np.median(seen.end - seen.start, axis=0))
    if not slow.any() or slow.all():
        return []
    work = {r: seen.work[r, slow].mean() / max(seen.work[r, ~slow].mean(), 1)
            for r in suspicious(seen, slow)}
    links = above(slowdowns(transfers(seen), slow))
    return [rank(r) for r in above(work)] + [
        {"scope": "link", "ranks": [int(a), int(b)]} for a, b in links]


TOOLS = {"NVRx 0.75": nvrx, "NVRx 0.7": lambda seen: nvrx(seen, 0.7), "DLRover": dlrover,
         "Megatron-LM": megatron, "HTA": hta, "HTA, all calls": lambda seen: hta(seen, 0),
         "TraceML": traceml, "Greyhound": greyhound}
