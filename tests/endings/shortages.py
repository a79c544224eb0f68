"""What a job of the endings matrix may lack: shared memory, disk space, descriptors, or the collectors of
its victims. A job without profwrap lacks the same."""

import os
import signal

import smallshm
from ending import state_of, stop, wait_for

ENOUGH_S = 60


class Shortage:
    """`below`: words before the launcher, `within`: before profwrap or the program of a rank. `forms`: in
    which forms it can be made. `without`: launchers whose own programs fail by it. `has_report`: whether a
    report is possible."""

    def __init__(self, below=(), within=(), env=None, forms=("inside", "outside"), has_report=True,
                 complete=(1,), signals=(), without=()):
        self.below, self.within, self.env, self.forms = list(below), list(within), env or {}, forms
        self.has_report, self.complete, self.signals, self.without = has_report, complete, signals, without
        self.stopped = []
        if signals:
            self.env = {**self.env, "ENDING_AWAITS": "treated"}  # the victims wait for that file

    def treat(self, trial):
        """Sends the first of the signals to the collectors of all victims, and lets the victims end."""
        if not self.signals:
            return
        for rank in trial.cell.victims():
            wait_for(lambda rank=rank: trial.pid_in("begun", rank), "begin of a rank", ENOUGH_S)
            collector = parent_of(trial.pid_in("begun", rank))
            if trial.profwrap and os.readlink(f"/proc/{collector}/exe") == trial.profwrap:
                self.signal(collector)
        open(os.path.join(trial.folder, "treated"), "w").close()

    def signal(self, collector):
        if self.signals[0] == signal.SIGSTOP:
            stop(collector)
            self.stopped.append(collector)
        else:
            os.kill(collector, self.signals[0])

    def end(self):
        for pid in self.stopped:
            if state_of(pid) in ("T", "t"):
                os.kill(pid, signal.SIGCONT)
        self.stopped = []


def parent_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


def full_disk():
    """A file system for the output directory that is full after a moment."""
    smallshm.in_namespace(1)  # or it is skipped
    script = 'mkdir -p out && mount -t tmpfs -o size=256k none out || exit 99; exec "$@"'
    return Shortage(["unshare", "-m", "sh", "-c", script, "sh"], has_report=False)


def full_shared_memory():
    """Open MPI takes another way, too. MPICH has none: its programs die of SIGBUS, also without profwrap."""
    return Shortage(smallshm.in_namespace(8, 100), env={"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_osc": "^sm"},
                    without=("mpich4", "mpich5", "intelmpi"))


SHORTAGES = {
    "shm": full_shared_memory,
    "disk": full_disk,
    "descriptors": lambda: Shortage(within=["sh", "-c", 'ulimit -n 40; exec "$@"', "sh"], forms=("inside",)),
    "collector-killed": lambda: Shortage(signals=(signal.SIGKILL,), complete=(1, 2)),
    # `profwrap LAUNCHER` waits for the rank's file, for as long as for any other.
    "collector-stopped": lambda: Shortage(signals=(signal.SIGSTOP,), forms=("inside",)),
}
