"""Mounts a /dev/shm of a given size in its own mount namespace."""

import os
import subprocess

import harness as h


def in_namespace(size, percent=0):
    """The first words of a command that runs with a /dev/shm of `size` MiB, of which `percent` is
    in use."""
    flags = "-m" if os.geteuid() == 0 else "-rm"
    probe = subprocess.run(["unshare", flags, "mount", "-t", "tmpfs", "none", "/dev/shm"],
                           capture_output=True)
    if probe.returncode:
        raise h.Skipped("this user cannot mount a tmpfs")
    script = (f"mount -t tmpfs -o size={size}m none /dev/shm || exit 99; "
              f"head -c {percent * size * 1048576 // 100} /dev/zero >/dev/shm/filler; exec \"$@\"")
    return ["unshare", flags, "sh", "-c", script, "sh"]
