"""docs/slurm.md is true: every command in it is run as it stands there, on hosts that have had no
profwrap: as root what begins with "# ", as a user what begins with "$ ".
test_document.py VCLUSTER CMAKE BUILD TRAIN [NAME...]
"""
import pathlib
import re
import shutil
import sys
import time

from slurmcluster import HOSTS, check, run_cases

DOCUMENT = pathlib.Path(__file__).resolve().parents[3] / "docs/slurm.md"
# What CI has done before any test.
BUILT = "cmake --preset release -DBUILD_TESTING=OFF && cmake --build --preset release"
MODULES = "/usr/share/modules/init/bash"


def commands_of(section):
    """(prompt, command, lines that it is said to print) in a section's indented blocks."""
    found = []
    for line in re.findall(r"^    (\S.*)$", section, re.M):
        if line.startswith(("$ ", "# ")):
            found.append((line[0], line[2:], []))
        else:
            check(found, f"the document has a line without a command: {line}")
            found[-1][2].append(line)
    return found


def sections():
    """Heading to text; what is before the first heading is at ''."""
    parts = re.split(r"^## (.*)$", DOCUMENT.read_text(), flags=re.M)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2]))}


class Session:
    """Where the document's administrator and user sit: files at the places that it names."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.modules = []
        for name in ("opt", "source", "slurm"):
            (cluster.base / name).mkdir(exist_ok=True)
        (cluster.base / "source/build").symlink_to(cluster.build)
        for host in ["login", *HOSTS]:
            cluster.on(host, "mount", "--bind", cluster.base / "opt", "/opt")
            cluster.on(host, "mount", "--bind", cluster.base / "slurm", "/etc/slurm")
        home = cluster.base / "home/ada"
        shutil.copy(cluster.train, home / "train")
        (home / "job.sh").write_text("#!/bin/bash\nsrun ./train\n")

    def plain(self, text):
        """Numbers and names of this run replaced, as far as they differ from those in the document."""
        return re.sub(r"\d+(\.\d+)?( ms)?", "N", text.replace(str(self.cluster.base), ""))

    def as_root(self, command):
        return self.cluster.on("login", "bash", "-c", command, cwd=self.cluster.base / "source")

    def as_user(self, command):
        if command.startswith("module "):
            self.modules.append(command)
        start = "".join(f"{line}; " for line in [f". {MODULES}", *self.modules] if self.modules)
        # What a site's slurm.conf has as MpiDefault.
        return self.cluster.user("bash", "-c", start + command, env={"SLURM_MPI_TYPE": "pmix"})

    def run(self, prompt, command, expected):
        if command == BUILT:
            return
        if not pathlib.Path(MODULES).exists() and (command.startswith(("module ", "profwrap "))):
            print(f"  not run, there is no {MODULES}: {command}")
            return
        start = time.monotonic()
        done = (self.as_root if prompt == "#" else self.as_user)(command)
        text = done.stdout + done.stderr
        print(f"  {time.monotonic() - start:4.1f} s  {prompt} {command}", flush=True)
        for line in expected:
            check(self.plain(line) in self.plain(text), f"{command} printed {text!r}, not {line!r}")
        check(": error: " not in text and "unprofiled" not in text, f"{command}: {text}")


def run_section(session, text, least):
    commands = commands_of(text)
    check(len(commands) >= least, f"only {len(commands)} commands")
    for command in commands:
        session.run(*command)


def from_the_source_to_the_first_report_and_back(cluster):
    session = Session(cluster)
    text = sections()
    done = cluster.user("srun", "--profwrap", "true", check=False)
    check("unrecognized option" in done.stderr, f"there is profwrap before it is installed: {done}")
    for heading in list(text):
        if heading.startswith("For administrators"):
            run_section(session, text.pop(heading), 10)
    jobs = len(cluster.profiles(cluster.base / "home/ada"))
    check(jobs == 2, f"srun and the task prolog have left {jobs} profiles")
    removal = text.pop("Taking it away")
    for rest in text.values():
        run_section(session, rest, 0)
    cluster.wait_for(lambda: not cluster.on("login", "squeue", "-h").stdout, 30, "the jobs")
    cluster.check_clean()
    profiles = cluster.profiles(cluster.base / "home/ada")
    check(len(profiles) == jobs + 2, f"srun and sbatch have left {profiles}")
    check(all((profile / "report.txt").exists() for profile in profiles), "no report")
    run_section(session, removal, 3)
    check(not list((cluster.base / "opt").glob("*")), "something is left in /opt")
    done = cluster.user("srun", "-n2", "sh", "-c", "env; echo here")
    check(done.stdout.count("here\n") == 2 and "profwrap" not in (done.stdout + done.stderr).lower(),
          f"something of profwrap is left: {done}")


if __name__ == "__main__":
    sys.exit(run_cases([from_the_source_to_the_first_report_and_back], is_bare=True))
