"""Whether the report's confidence is a probability: of all verdicts on ranks in the cases, in bins of
confidence, the share that is at fault (a reliability diagram as a table).

    reliability.py CASES.json        (from accuracy.py --classes ... --json CASES.json)
"""
import json
import sys

EDGES = [0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0]
Z = 1.96  # 95 %


def wilson(right, count):
    """Wilson's interval of a share (JASA 22, 1927)."""
    share, z = right / count, Z * Z / count
    middle, half = share + z / 2, Z * (share * (1 - share) / count + z / (4 * count)) ** 0.5
    return (middle - half) / (1 + z), (middle + half) / (1 + z)


def bins(pairs):
    """[(from, to, count, mean confidence, right)] of [(confidence, right)]. The last bin includes
    1.0."""
    found = []
    for low, high in zip(EDGES, EDGES[1:]):
        inside = [(c, r) for c, r in pairs if low <= c < high or (high == EDGES[-1] and c == high)]
        if inside:
            found.append((low, high, len(inside), sum(c for c, _ in inside) / len(inside),
                          sum(bool(r) for _, r in inside)))
    return found


def calibration_error(pairs):
    """The expected calibration error: the mean distance between confidence and share of right
    verdicts, weighted by count."""
    return sum(abs(count * mean - right) for _, _, count, mean, right in bins(pairs)) / len(pairs)


def lines_of(what, pairs):
    yield f"| {what} | verdicts | mean confidence | at fault | 95 % interval | inside |"
    yield "|---|---|---|---|---|---|"
    for low, high, count, mean, right in bins(pairs):
        least, most = wilson(right, count)
        yield (f"| {low:g} to {high:g} | {count} | {mean:.3f} | {right / count:.3f} | "
               f"{least:.3f} to {most:.3f} | {'yes' if least <= mean <= most else 'no'} |")
    right = sum(bool(r) for _, r in pairs)
    yield (f"| all | {len(pairs)} | {sum(c for c, _ in pairs) / len(pairs):.3f} | "
           f"{right / len(pairs):.3f} | calibration error {calibration_error(pairs):.3f} | |")


def main(path):
    with open(path) as file:
        results = json.load(file)
    every = [tuple(row) for r in results for row in r["rows"]]
    first = [(r["confidence"], r["right"]) for r in results if "confidence" in r]
    for what, pairs in (("confidence, every row", every), ("confidence, named first", first)):
        print("\n".join(lines_of(what, pairs)) if pairs else f"{what}: no verdict", end="\n\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1].strip())
    main(sys.argv[1])
