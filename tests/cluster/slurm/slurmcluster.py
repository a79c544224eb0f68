"""A real Slurm on the virtual cluster: munged and slurmctld on login, a slurmd on each host, two
users that exist nowhere else, and profwrap installed with its plugin and hooks.

    with slurmcluster.Cluster(vcluster, cmake, build) as cluster:
        cluster.user("srun", "--profwrap", "hostname")

Everything is in one temporary directory, `cluster.base`, and in the processes of the virtual hosts:
leaving the block, however that comes, removes both. What cannot run here raises Skipped.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HOSTS = ["h1", "h2", "h3", "h4"]
USERS = {"ada": 61001, "eve": 61002}
PROGRAMS = ["munged", "slurmctld", "slurmd", "srun", "sbatch", "setpriv", "mount"]
CONFIGURATION = """\
ClusterName=virtual
SlurmctldHost=login
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={base}/munge/socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
KillWait=3
SlurmdTimeout=6
BatchStartTimeout=20
UnkillableStepTimeout=20
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
StateSaveLocation={base}/slurm/state
SlurmctldPidFile={base}/slurm/slurmctld.pid
SlurmctldLogFile={base}/slurm/slurmctld.log
SlurmdSpoolDir=/run/slurmd
SlurmdPidFile=/run/slurmd.pid
SlurmdLogFile={base}/slurm/slurmd.%n.log
PlugStackConfig={base}/slurm/plugstack.conf
GresTypes=gpu
NodeName=h[1-4] CPUs=8 RealMemory=1000 Gres=gpu:4 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=180 State=UP
"""
HOOKS = """\
Prolog={prefix}/share/profwrap/slurm/prolog
Epilog={prefix}/share/profwrap/slurm/epilog
TaskProlog={prefix}/share/profwrap/slurm/task-prolog
"""


class Skipped(Exception):
    """This machine cannot do it; the text says why."""


class Cluster:
    def __init__(self, vcluster, cmake, build, is_bare=False):
        """A bare one is without profwrap."""
        self.vcluster, self.cmake, self.build = os.path.abspath(vcluster), cmake, build
        self.is_bare = is_bare
        self.base = self.prefix = self.plugin = None

    # --- up and down ------------------------------------------------------------------------------

    def __enter__(self):
        for name in PROGRAMS:
            if not shutil.which(name):
                raise Skipped(f"needs the program {name}")
        # Neither SIGTERM, by a test's time limit, nor a failure may leave hosts behind.
        signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="vslurm-"))
        self.base.chmod(0o755)
        os.environ["VCLUSTER_STATE"] = str(self.base / "hosts")
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        down = subprocess.run([self.vcluster, "down"], capture_output=True, text=True)
        if down.returncode:
            print(down.stderr)
        shutil.rmtree(self.base, ignore_errors=True)

    def start(self):
        if not self.is_bare:
            self.install()
        self.make_directories()
        up = subprocess.run([self.vcluster, "up", str(len(HOSTS)), "--share", str(self.base)],
                            cwd=self.base, capture_output=True, text=True)
        if up.returncode == 77:
            raise Skipped(up.stderr.strip())
        if up.returncode:
            raise RuntimeError(f"vcluster up: {up.stderr}")
        for host in ["login", *HOSTS]:
            self.on(host, "chmod", "0755", "/run")
            for name in ("passwd", "group"):
                self.on(host, "mount", "--bind", self.base / name, f"/etc/{name}")
        self.start_daemons()

    def install(self):
        self.prefix = self.base / "profwrap"
        subprocess.run([self.cmake, "--install", self.build, "--prefix", self.prefix], check=True,
                       stdout=subprocess.DEVNULL)
        plugins = list(self.prefix.glob("lib*/**/profwrap_spank.so"))
        if not plugins:
            raise Skipped("built without slurm/spank.h")
        self.plugin = plugins[0]

    def make_directories(self):
        for name in ("munge", "slurm", "slurm/state", "home"):
            (self.base / name).mkdir()
        lines = {name: pathlib.Path(f"/etc/{name}").read_text("latin-1") for name in ("passwd", "group")}
        for user, uid in USERS.items():
            home = self.base / "home" / user
            home.mkdir(mode=0o700)
            os.chown(home, uid, uid)
            lines["passwd"] += f"{user}:x:{uid}:{uid}::{home}:/bin/bash\n"
            lines["group"] += f"{user}:x:{uid}:\n"
        for name, text in lines.items():
            (self.base / name).write_text(text, "latin-1")
        text = CONFIGURATION if self.is_bare else CONFIGURATION + HOOKS
        (self.base / "slurm/slurm.conf").write_text(text.format(base=self.base, prefix=self.prefix))
        for card in range(4):  # no devices: Slurm only counts them
            (self.base / f"slurm/card{card}").write_text("")
        (self.base / "slurm/gres.conf").write_text(f"Name=gpu File={self.base}/slurm/card[0-3]\n")
        self.configure_plugin()

    def configure_plugin(self, *settings):
        """Takes effect in the next job step."""
        line = f"optional {self.plugin} {' '.join(settings)}\n"
        (self.base / "slurm/plugstack.conf").write_text("" if self.is_bare else line)

    def start_daemons(self):
        munge = self.base / "munge"
        munge.chmod(0o755)
        (munge / "secret").mkdir(mode=0o700)
        (munge / "secret/key").write_bytes(os.urandom(128))
        (munge / "secret/key").chmod(0o600)
        self.on("login", "munged", "--force", f"--socket={munge}/socket",
                f"--key-file={munge}/secret/key", f"--pid-file={munge}/secret/pid",
                f"--log-file={munge}/secret/log", f"--seed-file={munge}/secret/seed")
        self.on("login", "slurmctld", "-c")
        for host in HOSTS:
            self.on(host, "slurmd")
        self.wait_for(lambda: self.idle_hosts() == len(HOSTS), 20, "all hosts to be idle")

    # --- commands ---------------------------------------------------------------------------------

    def on(self, host, *command, check=True, **options):
        """Runs a command as root on a host."""
        environment = {**os.environ, "SLURM_CONF": str(self.base / "slurm/slurm.conf")}
        # Nor the directory that the tests were started in: it may be named after profwrap.
        for name in [n for n in environment if n.startswith(("OMPI_", "PROFWRAP_"))
                     or n in ("OLDPWD", "PWD")]:
            del environment[name]
        environment.update(options.pop("env", {}))
        done = subprocess.run([self.vcluster, "exec", host, *map(str, command)], text=True,
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, timeout=120,
                              **{"cwd": self.base, **options})
        if check and done.returncode:
            raise RuntimeError(f"{command}: status {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def user(self, *command, name="ada", cwd=None, env=None, host="login", **options):
        """Runs a command as a user, in a directory of his."""
        home = self.base / "home" / name
        environment = {"HOME": str(home), "USER": name, "LOGNAME": name, **(env or {})}
        uid = str(USERS[name])
        # Set after root's own programs have started, which are none of the user's concern.
        variables = [f"{key}={value}" for key, value in environment.items()]
        return self.on(host, "setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups",
                       "env", "-C", cwd or home, *variables, *command, **options)

    def directory(self, name, user="ada"):
        """A fresh directory in the user's home."""
        path = self.base / "home" / user / name
        path.mkdir()
        os.chown(path, USERS[user], USERS[user])
        return path

    def submit(self, script, *options, cwd, user="ada", **more):
        """The id of a batch job that runs the lines of `script`."""
        path = pathlib.Path(cwd) / "job.sh"
        path.write_text("#!/bin/bash\n" + script)
        path.chmod(0o755)
        done = self.user("sbatch", "--parsable", "--output=out", *options, "job.sh", name=user,
                         cwd=cwd, **more)
        return done.stdout.strip()

    # --- what the cluster says --------------------------------------------------------------------

    def idle_hosts(self):
        done = self.on("login", "sinfo", "-h", "-t", "idle", "-o", "%D", check=False)
        return sum(map(int, done.stdout.split()))

    def job(self, job_id):
        """Field name to value, as `scontrol show job` has it."""
        text = self.on("login", "scontrol", "-o", "show", "job", job_id).stdout
        return dict(re.findall(r"(\S+?)=(.*?)(?= [A-Z][\w:/]*=|$)", text.strip()))

    def state(self, job_id):
        return self.job(job_id)["JobState"]

    def wait_for(self, condition, seconds, what):
        """Seconds that it took."""
        start = time.monotonic()
        while not condition():
            if time.monotonic() - start > seconds:
                raise RuntimeError(f"waited {seconds} s for {what}")
            time.sleep(0.05)
        return time.monotonic() - start

    def wait_job(self, job_id, seconds=60):
        """Waits for the job's end, epilogs included; its state."""
        active = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED"}
        self.wait_for(lambda: self.state(job_id) not in active, seconds, f"the end of job {job_id}")
        return self.state(job_id)

    # --- what jobs leave --------------------------------------------------------------------------

    def profiles(self, directory):
        """Directories of profiles in a job's directory."""
        return sorted(pathlib.Path(directory).glob("profwrap-*"))

    def processes(self, host):
        """Command lines of the users' processes on a host."""
        users = ",".join(str(uid) for uid in USERS.values())
        return self.on(host, "ps", "-u", users, "-o", "args=", check=False).stdout.splitlines()

    def shared_memory(self, host):
        return self.on(host, "find", "/dev/shm", "-name", "profwrap-*").stdout.split()

    def leftovers(self, hosts=HOSTS):
        """What no job may leave: processes, shared memory, and notes of the hooks."""
        notes = [self.on(h, "find", "/run/profwrap", "-mindepth", "1", check=False).stdout.split()
                 for h in hosts]
        return [*sum((self.processes(h) + self.shared_memory(h) for h in hosts), []),
                *sum(notes, [])]

    def check_clean(self, hosts=HOSTS, seconds=15):
        try:
            self.wait_for(lambda: not self.leftovers(hosts), seconds, "nothing to be left")
        except RuntimeError:
            raise AssertionError(f"left: {self.leftovers(hosts)}") from None

    def explain(self, lines=8):
        """Prints what a failure may come from: nodes, jobs, what runs, and the ends of the logs."""
        for command in (["sinfo", "-N", "-o", "%N %T %E"], ["squeue", "-o", "%i %T %N %r"]):
            print(self.on("login", *command, check=False).stdout.rstrip())
        for host in HOSTS:
            found = self.on(host, "ps", "-eo", "pid,ppid,stat,user,wchan:20,args", check=False)
            print(f"{host}:", *[line for line in found.stdout.splitlines()[1:]
                                if not re.search("vcluster_host boot|slurmd$| ps -eo", line)],
                  sep="\n  ")
        for log in sorted((self.base / "slurm").glob("*.log")):
            print(f"{log.name}:", *log.read_text(errors="replace").splitlines()[-lines:], sep="\n  ")


def read_profile(profile):
    """Rank to the value of `complete` of each rank file, which must be readable."""
    import h5py
    found = {}
    for path in sorted(profile.glob("rank-*.h5")):
        with h5py.File(path) as file:
            len(file["events/comm"][:])
            found[int(file.attrs["rank"])] = int(file.attrs["complete"])
    return found


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def run_cases(cases, is_bare=False):
    """Runs functions of one argument, a cluster, one after the other; the exit status. The command
    line is VCLUSTER CMAKE BUILD TRAIN [NAME...]."""
    vcluster, cmake, build, train, *names = sys.argv[1:]
    failures = 0
    try:
        start = time.monotonic()
        with Cluster(vcluster, cmake, build, is_bare) as cluster:
            print(f"up after {time.monotonic() - start:.1f} s")
            cluster.train = cluster.base / "train"
            shutil.copy(train, cluster.train)
            for case in cases:
                if not names or case.__name__ in names:
                    failures += run_case(case, cluster)
    except Skipped as reason:
        print(f"skipped: {reason}")
        return 77
    return 1 if failures else 0


def run_case(case, cluster):
    start = time.monotonic()
    try:
        cluster.configure_plugin()
        case(cluster)
        verdict = "ok"
    except (AssertionError, RuntimeError, OSError, KeyError, subprocess.SubprocessError) as problem:
        verdict = f"FAILED: {type(problem).__name__}: {problem}"
    print(f"{case.__name__.replace('_', '-')} ({time.monotonic() - start:.1f} s): {verdict}",
          flush=True)
    if verdict != "ok":
        cluster.explain()
    return verdict != "ok"


# Open MPI over the hosts' network, with more ranks than processors.
MPI = """
export OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_oob_tcp_if_include=eth0 OMPI_MCA_pml=ob1
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_rmaps_base_oversubscribe=1
"""
