"""Programs that use an MPI library other than the one that profwrap was built with, and the
launchers of these libraries."""

import os
import sys

import harness as h

# As Hydra's: says what it is, and knows no option of Open MPI's.
HYDRA = """#!/bin/sh
echo "$@" >>"$(dirname "$0")/asked"
[ "$1" = --version ] || exit 255
echo "HYDRA build details:"
echo "    Version: 5.0.2"
"""

SILENT = """#!/bin/sh
exec sleep 1000
"""


def with_mpirun(text):
    """An environment whose PATH has this script as mpirun."""
    os.makedirs("bin", exist_ok=True)
    with open("bin/mpirun", "w") as file:
        file.write(text)
    os.chmod("bin/mpirun", 0o700)
    return {"PATH": os.path.abspath("bin") + ":" + os.environ["PATH"]}


def profwrap_mpirun(env):
    """Runs a job, and the merge, with this environment. The ranks get their PATH from Open MPI's
    mpirun."""
    return h.run(h.profwrap("--summary", "-o", "out", *h.mpirun(2, h.place("TRAIN"), "--steps", 3)),
                 env=env)


def check_merged(done, folder, n):
    h.check("the merge failed" not in done.stderr.decode(), done.stderr.decode())
    with h.h5py().File(os.path.join(folder, "cluster.h5"), "r") as cluster:
        h.equal(len(cluster["ranks"]), n, "ranks that were merged")


@h.case
def merge_without_the_mpirun_of_another_mpi():
    """The merge must not use another MPI's mpirun, which does not know the options that the merge
    gives."""
    env = with_mpirun(HYDRA)
    done = profwrap_mpirun(env)
    check_merged(done, "out", 2)
    with open("bin/asked") as file:
        h.equal(file.read(), "--version\n", "what the other mpirun was asked")


@h.case
def merge_beside_an_mpirun_that_does_not_answer():
    done = profwrap_mpirun(with_mpirun(SILENT))
    check_merged(done, "out", 2)


def check_standard_abi(more, **environment):
    """Runs a program whose received messages have `more` bytes than it asked for."""
    h.run(h.profwrap("--no-merge", "-o", "out", h.program("standarduse")), env=environment)
    file = h.open_complete("out", 0)
    rows = [(op, *(int(event[field]) for field in ("sent_bytes", "recv_bytes", "peer")))
            for op, event in zip(h.operations(file), file["events/comm"][:])]
    wanted = [("Allreduce", 3, 3, -1), ("Allreduce", 4, 4, -1), ("Recv", 0, 5 + more, 0),
              ("Irecv", 0, 6 + more, 0), ("Irecv", 0, 0, -1), ("Irecv", 0, 0, -1), ("Isend", 0, 0, -1),
              ("Isend", 6, 0, 0)]
    messages = sorted(row for row in rows if row[0] not in ("Init", "Wait", "Finalize"))
    h.equal(messages, sorted(wanted), "operations")


@h.case
def library_of_the_standard_abi():
    """Handles, statuses, requests of complete operations, and a function that MPI-4.0 added."""
    check_standard_abi(0)


@h.case
def library_of_the_standard_abi_with_statuses_of_mpich():
    """They are read without the library's help, also when a message is larger than 4 GiB."""
    check_standard_abi(8 << 30, STANDARDMPI_AS_MPICH="1")


@h.case
def library_of_the_standard_abi_with_requests_of_intel_mpi():
    """Two complete receives have one request at the same time."""
    check_standard_abi(0, STANDARDMPI_AS_INTEL="1")


@h.case
def library_of_the_standard_abi_that_is_loaded_later():
    h.run(h.profwrap("--no-merge", "-o", "out", h.program("loader"), "local",
                     h.program("libstandarduse.so")))
    h.equal(h.operations(h.open_complete("out", 0)).count("Allreduce"), 2, "calls of MPI_Allreduce")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
