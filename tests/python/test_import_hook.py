"""The hook that profwrap puts into PYTHONPATH. Every program runs as without it, with every version
of Python."""

import glob
import os
import shutil
import subprocess
import sys
import unittest

import support

SITE = os.path.join(support.MODULE_DIR, "profwrap", "_site")
STATE = """
import os, sys
print(sys.path, sorted(name for name in sys.modules if "profwrap" in name))
print("sitecustomize" in sys.modules, sys.argv, sys.version_info[:2])
"""


def interpreters():
    """This interpreter and all others that are found, each once."""
    named = [shutil.which(f"python{v}") for v in ("2.7", *(f"3.{n}" for n in range(5, 20)))]
    found = [sys.executable, *filter(None, named)]
    found += glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python"))
    works = {}
    for path in found:
        text = "import sys; print(sys.version)"
        done = subprocess.run([path, "-c", text], capture_output=True, text=True)
        if done.returncode == 0:
            works.setdefault(done.stdout, path)
    return list(works.values())


INTERPRETERS = interpreters()


class FilesTest(support.TempDirTest):
    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path


class HookTest(FilesTest):
    def run_python(self, python, *arguments, paths=(), hook=True, **variables):
        paths = [SITE, *paths] if hook else list(paths)
        env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        env.update({"PYTHONDONTWRITEBYTECODE": "1", **variables})
        if paths:
            env["PYTHONPATH"] = os.pathsep.join(paths)
        done = subprocess.run(
            [python, *arguments], env=env, cwd=self.tmp, capture_output=True, text=True
        )
        return done.returncode, done.stdout, done.stderr

    def assertSame(self, *arguments, paths=(), pythons=INTERPRETERS, **variables):
        """Status, output and errors are the same with and without the hook. Returns them."""
        for python in pythons:
            with self.subTest(python=python):
                plain = self.run_python(python, *arguments, paths=paths, hook=False, **variables)
                hooked = self.run_python(python, *arguments, paths=paths, **variables)
                self.assertEqual(hooked, plain)
        return hooked

    def test_plain_program(self):
        self.assertSame("-c", STATE, "argument")

    def test_options_of_python(self):
        for option in ("-E", "-s"):
            self.assertSame(option, "-c", STATE)
        # Without the module site nothing takes the directory off the path; it has nothing to import.
        without = f"import sys\nsys.path[:] = [p for p in sys.path if p != {SITE!r}]\n"
        self.assertSame("-S", "-c", without + STATE)
        self.assertSame("-I", "-c", STATE, pythons=INTERPRETERS[:1])

    def test_options_that_turn_it_off_are_said(self):
        """One line says so. The program runs as without profwrap."""
        cases = {("-uI", "-c", "print(5)"): "-I", ("-W", "ignore", "-S", "-c", "print(5)"): "-S",
                 ("-c", "print(5)", "-I"): None}
        for number, (arguments, option) in enumerate(cases.items()):
            command = [support.PROFWRAP, "--no-merge", "-o", self.path(f"out{number}"),
                       sys.executable, *arguments]
            done = subprocess.run(command, capture_output=True, text=True, timeout=100)
            self.assertEqual((done.returncode, done.stdout), (0, "5\n"), done.stderr)
            lines = [line for line in done.stderr.splitlines() if "sitecustomize" in line]
            self.assertEqual(len(lines), option is not None, done.stderr)
            self.assertTrue(option is None or f" {option} runs no " in lines[0], done.stderr)

    def test_sitecustomize_of_the_program(self):
        folder = os.path.dirname(
            self.write("user/sitecustomize.py", "print('mine')\nvalue = __name__, __file__\n")
        )
        text = "import sitecustomize; print(sitecustomize.value)\n" + STATE
        out = self.assertSame("-c", text, paths=[folder])[1]
        self.assertIn("mine", out)

    def test_sitecustomize_that_fails(self):
        for number, text in enumerate(
            (
                "raise ValueError('mine')",
                "import no_such_module",
                "raise ImportError('mine')",
                "1 +",
            )
        ):
            path = self.write(f"fails{number}/sitecustomize.py", text + "\n")
            self.assertSame("-c", STATE, paths=[os.path.dirname(path)])

    def test_sitecustomize_that_exits(self):
        self.write("exits/sitecustomize.py", "raise SystemExit(3)\n")
        for python in INTERPRETERS:  # Python prints the stack of it, with a line of ours
            paths = [self.path("exits")]
            plain = self.run_python(python, "-c", STATE, paths=paths, hook=False)
            hooked = self.run_python(python, "-c", STATE, paths=paths)
            self.assertEqual(hooked[:2], plain[:2], python)

    def test_sitecustomize_as_a_package(self):
        self.write("package/sitecustomize/__init__.py", "from . import part\n")
        self.write("package/sitecustomize/part.py", "print('part')\n")
        self.assertSame("-c", STATE, paths=[self.path("package")])

    def test_usercustomize(self):
        path = self.write("user/usercustomize.py", "print('user')\n")
        self.assertSame("-c", STATE, paths=[os.path.dirname(path)])

    def test_virtual_environment(self):
        where = self.path("venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", where], check=True)
        self.assertSame("-c", STATE, pythons=[os.path.join(where, "bin", "python")])

    def test_exceptions_that_end_the_program(self):
        """Printed as without the hook, by whatever prints them."""
        function = "def fail():\n    return {}['no']\n"
        replaced = "import sys\nsys.excepthook = lambda *what: print('mine', what[0])\n"
        chained = (
            "import sys\nbefore = sys.excepthook\n"
            "def mine(*what):\n    print('mine')\n    before(*what)\nsys.excepthook = mine\n"
        )
        path = self.write("fails.py", function + "fail()\n")
        self.assertIn("KeyError", self.assertSame(path)[2])
        for text in (replaced, chained):
            path = self.write("replaced.py", text + function + "fail()\n")
            self.assertIn("mine", self.assertSame(path)[1])
        self.assertSame("-c", "raise SystemExit('text')")
        for status in ("", "0", "3", "None", "'text'", "(1, 2)"):
            self.assertSame("-c", f"import sys; sys.exit({status})", pythons=INTERPRETERS[:1])
        self.assertSame("-c", "raise KeyboardInterrupt", pythons=INTERPRETERS[:1])

    def test_torch_that_is_missing(self):
        text = "import sys\nsys.path[:] = [p for p in sys.path if '-packages' not in p]\nimport torch"
        self.assertIn("torch", self.assertSame("-c", text)[2])

    def test_torch_that_is_broken(self):
        for name, text in {
            "raises": "def load():\n    raise RuntimeError('broken')\nload()\n",
            "lacks": "import no_such_module\n",
            "syntax": "1 +\n",
            "exits": "raise SystemExit(4)\n",
        }.items():
            self.write(f"{name}/torch/__init__.py", text)
            script = "try:\n    import torch\nexcept ImportError:\n    import torch\n"
            status, _, _ = self.assertSame("-c", script, paths=[self.path(name)])
            self.assertNotEqual(status, 0, name)

    def test_torch_that_is_another_module(self):
        self.write("other/torch.py", "value = 3\n")
        main = self.write(
            "other/main.py",
            "import torch\n"
            "print(torch.value, type(torch.__loader__) if hasattr(torch, '__loader__') else None)\n",
        )
        self.assertTrue(self.assertSame(main)[1].startswith("3 "))

    def test_fork_before_torch(self):
        self.write("torch/__init__.py", "print('torch')\n")
        text = (
            "import os, sys\nsys.path.insert(0, '.')\npid = os.fork()\nif not pid:\n"
            "    import torch\n    sys.stdout.flush()\n    os._exit(0)\n"
            "os.waitpid(pid, 0)\nimport torch\n"
        )
        self.assertEqual(self.assertSame("-c", text)[1], "torch\ntorch\n")

    def test_children_have_the_hook_too(self):
        text = (
            "import subprocess, sys; print(subprocess.check_output([sys.executable, '-c', "
            "'import sys; print([type(f).__name__ for f in sys.meta_path])']))"
        )
        self.assertIn("_Watcher", self.run_python(sys.executable, "-c", text)[1])

    def test_profwrap_is_this_package(self):
        self.write("torch/__init__.py", "")
        after = "print(profwrap.__file__, 'profwrap._auto' in sys.modules)"
        text = f"import sys; sys.path.insert(0, '.'); import torch, profwrap; {after}"
        status, out, errors = self.run_python(sys.executable, "-c", text)
        self.assertEqual((status, errors), (0, ""))
        package = os.path.join(support.MODULE_DIR, "profwrap", "__init__.py")
        self.assertEqual(out.split(), [package, "True"])
        text = f"import sys; sys.path.insert(0, '.'); import profwrap, torch; {after}"
        self.assertEqual(self.run_python(sys.executable, "-c", text)[1].split(), [package, "True"])
        text = "import profwrap; print(profwrap.load, profwrap.FileError)"
        self.assertEqual(self.run_python(sys.executable, "-c", text)[0], 0)

    def test_another_package_of_this_name(self):
        self.write("torch/__init__.py", "")
        self.write("profwrap.py", "value = 5\n")
        text = "import sys; sys.path.insert(0, '.'); import torch, profwrap; print(profwrap.value)"
        self.assertEqual(self.run_python(sys.executable, "-c", text), (0, "5\n", ""))

    def test_finders_go_when_all_are_there(self):
        names = ("torch", "torch._dynamo", "torch.distributed", "torch.distributed.checkpoint", "torch_npu",
                 "mindspore", "mpi4py", "safetensors", "safetensors.torch")
        for name in names:
            self.write(name.replace(".", "/") + "/__init__.py", "")
        text = (
            f"import sys; sys.path.insert(0, '.'); import {', '.join(names)}; "
            "print(any(type(f).__name__ == '_Watcher' for f in sys.meta_path), "
            "vars(torch.__spec__.loader).keys())"
        )
        out = self.run_python(sys.executable, "-c", text)[1]
        self.assertEqual(out, "False dict_keys(['name', 'path'])\n")


class RunTest(FilesTest):
    """The same tests with `profwrap run`."""

    def profiled(self, text, *options):
        return support.run(
            *("env", "PYTHONPATH=" + self.tmp, support.PROFWRAP, "--quiet", "--no-merge"),
            *(*options, "-o", self.path("out"), sys.executable, "-c", text),
        )

    def test_path_of_the_program(self):
        text = "import os, sys; print(os.environ['PYTHONPATH'].split(':')[0], sys.path[1])"
        hook = os.path.realpath(SITE)
        self.assertEqual(self.profiled(text).split(), [hook, self.tmp])

    def test_turned_off(self):
        text = "import os; print(os.environ['PYTHONPATH'])"
        self.assertEqual(self.profiled(text, "--no-python").split(), [self.tmp])
        shutil.rmtree(self.path("out"))
        self.assertEqual(self.profiled(text, "--activities", "mpi").split(), [self.tmp])

    def test_collections_of_mpi4py_programs(self):
        """The probe's function is in gc.callbacks from the import of mpi4py on, not before."""
        self.write("mpi4py/__init__.py", "")
        text = (
            "import gc; before = len(gc.callbacks); import mpi4py; "
            "print(before, [call.__name__ for call in gc.callbacks])"
        )
        self.assertEqual(self.profiled(text), "0 ['collected']\n")

    def test_torch_that_is_too_old(self):
        self.write("torch/__init__.py", "__version__ = '1.12.1+cpu'\n")
        text = (
            "import contextlib, io, sys\nerrors = io.StringIO()\n"
            "with contextlib.redirect_stderr(errors):\n    import torch\n"
            "print(errors.getvalue())"
        )
        wanted = "profwrap: PyTorch 1.12.1+cpu is not instrumented: 1.13 or newer is needed"
        self.assertEqual(self.profiled(text).strip(), wanted)

    def test_mindspore_that_is_too_old(self):
        self.write("mindspore/__init__.py", "__version__ = '1.10.1'\n")
        text = (
            "import contextlib, io, sys\nerrors = io.StringIO()\n"
            "with contextlib.redirect_stderr(errors):\n    import mindspore\n"
            "print(errors.getvalue())"
        )
        wanted = "profwrap: MindSpore 1.10.1 is not instrumented: 2.0 or newer is needed"
        self.assertEqual(self.profiled(text).strip(), wanted)

    def test_mindspore_that_is_none(self):
        for version in ("2.10.0", "", "none"):
            self.write("mindspore/__init__.py", f"__version__ = {version!r}\nclass nn:\n    Cell = int\n")
            text = "import mindspore; print(mindspore.__version__ or 5)"
            self.assertEqual(self.profiled(text), f"{version or 5}\n")
            shutil.rmtree(self.path("out"))

    def test_torch_that_is_none(self):
        self.write("torch/__init__.py", "__version__ = '2.0'\n")
        self.assertEqual(self.profiled("import torch; print(torch.__version__)"), "2.0\n")


print("interpreters:", *INTERPRETERS)
unittest.main()
