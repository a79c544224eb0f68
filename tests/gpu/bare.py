"""For pack: runs a command as on a machine that has only a C library and Python. The command runs
in a chroot of this machine's own files, which are bind-mounted, not copied."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

C_LIBRARY = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|util|pthread|resolv|anl|mvec|nsl|nss_\w+|gcc_s|"
                       r"BrokenLocale|thread_db))\.so\.\d+$")
# What Debian and Ubuntu call essential, as far as the scripts here use it.
TOOLS = ("sh", "bash", "env", "dirname", "readlink", "sed", "timeout", "rm", "test", "setpriv")
DEVICES = ("null", "zero", "full", "random", "urandom")
NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
PYTHON = "/usr/bin/python3"


def why_not():
    """The reason why a chroot is not possible here, or None."""
    if os.geteuid() != 0:
        return "that takes root"
    for tool in ("unshare", "chroot", "mount"):
        if not shutil.which(tool):
            return f"there is no {tool}"
    probe = subprocess.run([*NAMESPACES, "sh", "-c", "mount -t tmpfs none /mnt && chroot / true"],
                           capture_output=True, text=True, check=False)
    return probe.stderr.strip() or "refused" if probe.returncode != 0 else None


def interpreter():
    return os.path.realpath(PYTHON if os.path.exists(PYTHON) else sys.executable)


def library_folders():
    """The folders of Python's own modules, without installed packages."""
    ask = "import sysconfig; print(sysconfig.get_path('stdlib'), sysconfig.get_path('platstdlib'))"
    done = subprocess.run([interpreter(), "-c", ask], capture_output=True, text=True, check=True)
    return sorted(set(done.stdout.split()))


def libraries_of(paths):
    """The libraries that ldd finds for these programs and modules, by the paths that it names."""
    done = subprocess.run(["ldd", *paths], capture_output=True, text=True, check=False)
    return set(re.findall(r"(/\S+) \(0x", done.stdout))


def c_library(libraries):
    """All parts of the C library in the folder of the libc.so that programs here are linked
    with."""
    folders = {os.path.dirname(path) for path in libraries if "/libc.so." in path}
    return {os.path.join(folder, name) for folder in folders for name in os.listdir(folder)
            if C_LIBRARY.match(name)}


def put(root, path, source=None):
    """Copies the file to the path at which programs look for it."""
    target = root + path
    if not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source or os.path.realpath(path), target)


def lay_out(root):
    """Copies files, and returns the folders to be bind-mounted: [(source, target)]."""
    tools = {f"/usr/bin/{name}": shutil.which(name) for name in TOOLS}
    python = interpreter()
    modules = [m for folder in library_folders()
               for m in glob.glob(os.path.join(folder, "lib-dynload", "*.so"))]
    for path, source in tools.items():
        if source:
            put(root, path, os.path.realpath(source))
    os.makedirs(root + os.path.dirname(python), exist_ok=True)
    put(root, python)
    if not os.path.exists(root + PYTHON):
        os.symlink(python, root + PYTHON)
    libraries = libraries_of([python, *filter(None, tools.values()), *modules])
    for path in libraries | c_library(libraries):
        put(root, path)
    for path, text in {"/etc/hosts": "127.0.0.1 localhost\n",
                       "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n"}.items():
        os.makedirs(root + "/etc", exist_ok=True)
        with open(root + path, "w", encoding="utf-8") as file:
            file.write(text)
    if not os.path.exists(root + "/bin"):
        os.symlink("usr/bin", root + "/bin")
    return [(folder, root + folder) for folder in library_folders()]


def mount_script(root, pack, bound):
    """A script that mounts the chroot. Only /tmp and /dev/shm are writable, and no mount outlives
    the namespace."""
    lines = ["set -e", "mount --make-rprivate /"]
    for source, target in [*bound, (pack, root + "/pack")]:
        os.makedirs(target, exist_ok=True)
        lines += [f"mount --bind '{source}' '{target}'",
                  f"mount -o remount,bind,ro '{target}'"]
        for installed in ("site-packages", "dist-packages"):
            if os.path.isdir(os.path.join(source, installed)):
                lines.append(f"mount -t tmpfs none '{target}/{installed}'")
    for name in ("proc", "sys", "tmp", "dev"):
        os.makedirs(f"{root}/{name}", exist_ok=True)
    lines += [f"mount -t proc proc '{root}/proc'", f"mount --rbind /sys '{root}/sys'",
              f"mount -t tmpfs none '{root}/tmp'", f"mount -t tmpfs none '{root}/dev'",
              f"mkdir '{root}/dev/shm'", f"mount -t tmpfs none '{root}/dev/shm'"]
    for name in DEVICES:
        lines += [f": > '{root}/dev/{name}'", f"mount --bind /dev/{name} '{root}/dev/{name}'"]
    return "\n".join([*lines, f"exec chroot '{root}' \"$@\""])


def run(command, pack):
    """Runs the command with the pack as /pack. Returns its status; its output goes to ours."""
    with tempfile.TemporaryDirectory(prefix="pwbare-", ignore_cleanup_errors=True) as root:
        os.chmod(root, 0o755)  # for who is not root in it
        script = mount_script(root, os.path.abspath(pack), lay_out(root))
        clean = ["/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "HOME=/tmp", "LC_ALL=C"]
        return subprocess.run([*NAMESPACES, "sh", "-c", script, "sh", *clean, *command],
                              check=False).returncode
