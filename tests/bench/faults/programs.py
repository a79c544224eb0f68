"""Programs that others wrote, and how each is fetched, built and started.

Sources come from their public repositories (git clone), or from DIR/NAME of --sources DIR; what is
installed as a package is used as it is. A program that cannot be had is left out, with the reason.
"""
import dataclasses
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclasses.dataclass
class Program:
    name: str
    ranks: int
    arguments: tuple  # of a run of some seconds
    repository: str = ""
    build: tuple = ()  # commands of the shell, in the source's folder; {out} is the program
    package: str = ""  # the executable of an installed package
    files: dict = dataclasses.field(default_factory=dict)  # that must be in its folder


_LULESH = ("mpicxx -O2 -DUSE_MPI=1 -I. lulesh*.cc -o {out}",)
_COMD = ('cd src-mpi; bash generate_info_header CoMD mpicc -O2 ""',
         "cd src-mpi; mpicc -O2 -std=c99 -DDOUBLE -DDO_MPI *.c -o {out} -lm")
_MINIFE = ("cd ref/src; make -s CFLAGS=-O2 && cp miniFE.x {out}",)
_HPCG = ("mpicxx -O2 -Isrc -DHPCG_NO_OPENMP src/*.cpp -o {out}",)
_LJ = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 16 0 16 0 16
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
run 400
"""

PROGRAMS = [
    Program("lulesh", 8, ("-s", "16", "-i", "120"),
            "https://github.com/LLNL/LULESH", _LULESH),
    Program("comd", 4, ("-i", "2", "-j", "2", "-x", "16", "-y", "16", "-z", "16", "-N", "100", "-d",
                        "{source}/pots"),
            "https://github.com/exmatex/CoMD", _COMD),
    Program("comd-2", 2, ("-i", "2", "-x", "16", "-y", "16", "-z", "16", "-N", "100", "-d",
                          "{source}/pots"),
            "https://github.com/exmatex/CoMD", _COMD),
    Program("minife", 4, ("-nx", "70", "-ny", "70", "-nz", "70"),
            "https://github.com/Mantevo/miniFE", _MINIFE),
    Program("minife-2", 2, ("-nx", "60", "-ny", "60", "-nz", "60"),
            "https://github.com/Mantevo/miniFE", _MINIFE),
    Program("hpcg", 4, ("--nx=32", "--ny=32", "--nz=32", "--rt=4"),
            "https://github.com/hpcg-benchmark/hpcg", _HPCG),
    Program("lammps", 4, ("-in", "in.lj", "-log", "none"), package="lmp", files={"in.lj": _LJ}),
    Program("trainer", 4, (os.path.join(HERE, "trainer.py"),), package="/usr/bin/python3"),
    Program("trainer-2", 2, (os.path.join(HERE, "trainer.py"),), package="/usr/bin/python3"),
]


def _source(program, sources, work):
    name = os.path.basename(program.repository)
    if sources:
        return os.path.join(sources, name)
    path = os.path.join(work, "src", name)
    if not os.path.isdir(path):
        subprocess.run(["git", "clone", "-q", "--depth", "1", program.repository, path], check=True,
                       timeout=300)
    return path


def prepare(program, sources, work):
    """The command of one rank; None, with the reason printed, when the program cannot be had."""
    folder = os.path.join(work, "run", program.name)
    os.makedirs(folder, exist_ok=True)
    for name, text in program.files.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    if program.package:
        path = shutil.which(program.package)
        if not path:
            print(f"{program.name}: left out: no {program.package} is installed", flush=True)
            return None
        return [path, *program.arguments]
    out = os.path.join(work, "bin", program.name)
    os.makedirs(os.path.dirname(out), exist_ok=True)
    try:
        source = _source(program, sources, work)
        for step in program.build if not os.path.exists(out) else ():
            subprocess.run(step.format(out=out), shell=True, cwd=source, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    except (OSError, subprocess.SubprocessError) as problem:
        print(f"{program.name}: left out: {problem}", file=sys.stderr, flush=True)
        return None
    return [out, *(argument.format(source=source) for argument in program.arguments)]
