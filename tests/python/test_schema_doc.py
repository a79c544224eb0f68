"""docs/schema.md has exactly the tables, fields and enumeration items of src/core/tables.def and
causes.h, and the words of /completeness that the merge writes."""

import os
import re
import unittest

import support


def read(*path):
    with open(os.path.join(support.SOURCE, *path), encoding="utf-8") as file:
        return file.read()


def definitions():
    """{name: body} of the macros in both files, with continuation lines joined."""
    source = re.sub(r"/\*.*?\*/", "", read("src", "core", "tables.def")
                    + read("src", "core", "causes.h"), flags=re.S)
    source = source.replace("\\\n", " ")
    return dict(re.findall(r"^#define (\w+)\(\w\)\s+(.*)$", source, re.M))


def expanded(macros, name):
    """The fields of a table, including those that it takes from another list."""
    return re.sub(r"(PW_\w+_FIELDS)\(F\)", lambda found: macros[found.group(1)], macros[name])


def tables(macros, which):
    """{path: fields, in order}."""
    rows = re.findall(r'T\((\w+), "([^"]+)", (\w+)[,)]', macros[which])
    return {path: re.findall(r'F\(\w+, (\w+), "', expanded(macros, fields))
            for _, path, fields in rows}


def chapter(title):
    """{heading: its text} of one part of schema.md."""
    text = read("docs", "schema.md").split(f"## {title}\n", 1)[1]
    text = re.split(r"^## ", text, flags=re.M)[0]
    sections = re.split(r"^### ", text, flags=re.M)[1:]
    return {section.split("\n", 1)[0]: section for section in sections}


def columns(section, shared):
    """The names in the rows of a section, in their order, with those of the lists that rows link to."""
    names = []
    table = section.split("| field | type | unit | meaning |\n")[1].split("\n\n")[0] if "| field" in section else ""
    for row in table.splitlines()[1:]:
        link = re.match(r"\| \| \| \| the columns of \[([^]]+)\]", row)
        if link:
            names += columns(shared[link[1]], shared)
        else:
            names += re.findall(r"`(\w+)`", row.split(" | ")[0])
    return names


def documented(part):
    """{path: fields}, from the headings and table rows of one part of schema.md."""
    shared = chapter("Columns of several tables")
    return {heading.strip("`"): columns(section, shared)
            for heading, section in chapter(part).items() if heading.startswith("`/")}


class SchemaDocTest(unittest.TestCase):
    def setUp(self):
        self.macros = definitions()

    def check_tables(self, which, part, others):
        wanted, found = tables(self.macros, which), documented(part)
        self.assertGreater(len(wanted), 5)
        self.assertEqual(sorted(set(found) - set(others)), sorted(wanted))
        for path, fields in wanted.items():
            self.assertEqual(found[path], fields, f"fields of {path} in {part}")

    def test_rank_tables(self):
        self.check_tables("PW_RANK_TABLES", "Rank file", ["/strings", "/stacks"])

    def test_cluster_tables(self):
        self.check_tables("PW_CLUSTER_TABLES", "Cluster file", ["/rank/NNNNN"])

    def test_words_of_completeness(self):
        said = set()
        for folder, _, names in os.walk(os.path.join(support.SOURCE, "src", "aggregate")):
            for name in names:
                said |= set(re.findall(r"""pw_job_note\(\s*job, [^"]*?"(\w+)",""", read(folder, name)))
        rows = re.findall(r"^\| (\w[^|]*) \|", chapter("Cluster file")["`/completeness`"], re.M)
        self.assertGreater(len(said), 30)
        self.assertEqual(said - set(", ".join(rows).split(", ")), set())

    def test_enumerations(self):
        text = read("docs", "schema.md").split("## Enumerations\n", 1)[1]
        names = re.findall(r"N\((\w+), \w+, (\w+)\)", self.macros["PW_ENUMS"])
        self.assertGreater(len(names), 5)
        for name, items in names:
            rows = re.findall(rf"^\| `{name}` \|(.*)$", text, re.M)
            wanted = re.findall(r'E\(\w+, (\d+), "(\w+)"', self.macros[items])
            found = re.findall(r"`(\w+)` (\d+)", " ".join(rows))
            self.assertEqual(found, [(item, value) for value, item in wanted], name)


unittest.main()
