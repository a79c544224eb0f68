"""Reads rank files from the output of `profwrap dump`. This needs only the standard library of
Python."""
import re
import subprocess

FIELD = re.compile(r'(\w+)=("[^"]*"|\S*)')


def value_of(text):
    """An integer, a number, or text. Names of enumerations are text."""
    if text.startswith('"'):
        return text[1:-1]
    for read in (lambda t: int(t, 0), float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def fields_of(line):
    return {name: value_of(text) for name, text in FIELD.findall(line)}


def dump(profwrap, path):
    """Its lines, one after the other."""
    with subprocess.Popen([profwrap, "dump", path], stdout=subprocess.PIPE, text=True,
                          errors="replace") as process:
        yield from process.stdout
    if process.returncode != 0:
        raise OSError(f"profwrap dump {path} ended with {process.returncode}")


def count_rows(profwrap, path):
    """({table: rows}, sum of the losses), for files that are too large for RankFile."""
    counts, lost = {}, 0
    for line in dump(profwrap, path):
        table = line[:line.find(" ")]
        counts[table] = counts.get(table, 0) + 1
        if table == "/events/gap":
            lost += fields_of(line)["lost"]
    return counts, lost


class RankFile:
    def __init__(self, profwrap, path):
        self._lines = {}
        for line in dump(profwrap, path):
            table, _, rest = line.partition(" ")
            self._lines.setdefault(table, []).append(rest)
        self.attributes = {n: value for row in self.rows("") for n, value in row.items()}
        self.texts = [row["text"] for row in self.rows("strings")]

    def rows(self, table):
        """A dictionary for each row, by field name."""
        return [fields_of(line) for line in self._lines.get("/" + table, [])]

    def overhead(self):
        return {row["name"]: row["value"] for row in self.rows("overhead")}

    def lost(self):
        return sum(row["lost"] for row in self.rows("events/gap"))
