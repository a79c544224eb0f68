"""docs/annotate.md names every function, method and argument of PyTorch's profiler. The profwrap
functions that the documents call exist."""

import inspect
import os
import re
import unittest

import support

import profwrap

try:
    import torch.autograd.profiler_util
    import torch.profiler
except ImportError:
    torch = None


def read(*path):
    with open(os.path.join(support.SOURCE, *path), encoding="utf-8") as file:
        return file.read()


class PythonDocTest(unittest.TestCase):
    def named(self):
        """Every word in the first cells of the tables of annotate.md."""
        cells = re.findall(r"^\| ([^|]*) \|", read("docs", "annotate.md"), re.M)
        return set(re.findall(r"\w+", " ".join(cells)))

    @unittest.skipUnless(torch, "torch is not installed (scripts/setup --torch)")
    def test_all_of_torch_profiler(self):
        profile = torch.profiler.profile
        wanted = set(inspect.signature(profile.__init__).parameters) - {"self"}
        wanted |= {name for name in dir(profile) if not name.startswith("_")}
        wanted |= set(inspect.signature(torch.profiler.schedule).parameters)
        functions = set(torch.profiler.__all__) - {"ProfilerActivity", "DeviceType"}
        # 1.13 calls the observer of execution traces by another name.
        wanted |= functions - {"profile", "ExecutionGraphObserver"}
        arguments = inspect.signature(profile.key_averages).parameters
        wanted |= set(arguments) - {"self"}
        self.assertGreater(len(wanted), 25)
        self.assertEqual(sorted(wanted - self.named()), [])

    def test_what_the_docs_call_is_there(self):
        names = set()
        for path in ("README.md", "docs/annotate.md", "docs/python.md"):
            found = re.findall(r"(?<!\w)profwrap\.((?:torch\.)?[a-z_]\w*)\(", read(path))
            names |= {name for name in found if not name.startswith("torch.")}
        self.assertGreater(len(names), 10)
        self.assertEqual([name for name in sorted(names) if not hasattr(profwrap, name)], [])

    def test_every_verb_is_in_the_docs(self):
        text = read("docs", "python.md")
        constants = {name for name in profwrap.__all__ if name.isupper()}
        objects = {"Action", "FileError", "Rank", "Run", "Window"}
        verbs = {*profwrap.__all__, "range"} - constants - objects
        missing = [verb for verb in verbs if not re.search(rf"\b{verb}\(", text)]
        self.assertEqual(sorted(missing), [])


unittest.main()
