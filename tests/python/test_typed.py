"""__init__.pyi has the names of the module and their parameters, with the same defaults."""

import ast
import inspect
import os
import sys
import unittest

import support  # noqa: F401  puts python/ into the path

import profwrap

HIDDEN = ("self", "_")
PATH = os.path.join(os.path.dirname(profwrap.__file__), "__init__.pyi")


def parameters(function):
    """(name, default as text, is keyword only) of each, of a stub."""
    args = function.args
    positional = args.posonlyargs + args.args
    defaults = [None] * (len(positional) - len(args.defaults)) + args.defaults
    rows = [(arg.arg, default, False) for arg, default in zip(positional, defaults)]
    rows += [(arg.arg, default, True) for arg, default in zip(args.kwonlyargs, args.kw_defaults)]
    return [(name, default and repr(ast.literal_eval(default)), only) for name, default, only in rows
            if name not in HIDDEN]


def real_parameters(function):
    rows = inspect.signature(function).parameters.values()
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [(row.name, None if row.default is row.empty else repr(row.default),
             row.kind is inspect.Parameter.KEYWORD_ONLY)
            for row in rows if row.kind not in variable and row.name not in HIDDEN]


class Typed(unittest.TestCase):
    def setUp(self):
        with open(PATH, encoding="utf-8") as file:
            self.tree = ast.parse(file.read())

    def test_names(self):
        found = set()
        for node in self.tree.body:
            if isinstance(node, ast.AnnAssign):
                found.add(node.target.id)
            elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                found.add(node.name)
        found = {name for name in found if not name.startswith("_")}
        self.assertEqual(found, {*profwrap.__all__, "range"})

    def test_parameters(self):
        compared = 0
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef):
                self.assertEqual(parameters(node), real_parameters(getattr(profwrap, node.name)), node.name)
                compared += 1
            elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                for method in node.body:
                    if isinstance(method, ast.FunctionDef) and method.name not in ("__getattr__", "steps"):
                        real = getattr(getattr(profwrap, node.name), method.name)
                        self.assertEqual(parameters(method), real_parameters(real), f"{node.name}.{method.name}")
                        compared += 1
        self.assertGreater(compared, 40)


if __name__ == "__main__":
    sys.exit(unittest.main())
