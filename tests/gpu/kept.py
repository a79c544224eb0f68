"""Keeps files of failed checks for analysis on another machine: the log of the failed checks and
their rank files. The folder gets at most 8 files, including the record, of at most 16 MiB each,
because no more can be brought back."""
import glob
import os
import re
import shutil

FILES, BYTES, LOG = 8, 16 << 20, "failed.log"


def name_of(*parts):
    """A name that has only letters, digits, dots, - and _."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(parts))


class Kept:
    def __init__(self, folder):
        self.folder = folder
        self.before = set()

    def begin(self):
        """A check begins. Rank files that exist already do not belong to it."""
        self.before = set(self.rank_files())

    @staticmethod
    def rank_files():
        return [(path, os.stat(path).st_mtime_ns) for path in sorted(glob.glob("*/rank-*.h5"))]

    def failed(self, check, log, used):
        """Keeps the output of the check's programs, the rank files that it made, and those that it
        read (used)."""
        if not self.folder:
            return
        os.makedirs(self.folder, exist_ok=True)
        made = [path for path, when in self.rank_files() if (path, when) not in self.before]
        notes = [self.keep(check, path) for path in dict.fromkeys([*made, *used])
                 if os.path.exists(path)]
        self.write("\n".join([f"==== {check}", *log, *filter(None, notes), ""]))

    def keep(self, check, path):
        """The reason why the file is not kept, or None if it is."""
        size = os.path.getsize(path)
        # One place is left for the log, which is written last.
        log_is_there = os.path.exists(self.log_path())
        if len(os.listdir(self.folder)) + (not log_is_there) >= FILES:
            return f"{path} is not kept: there are {FILES} files"
        if size > BYTES:
            return f"{path} is not kept: {size} bytes"
        shutil.copy(path, os.path.join(self.folder, name_of(check, *path.split(os.sep))))
        return None

    def log_path(self):
        return os.path.join(self.folder, LOG)

    def write(self, text):
        path = self.log_path()
        left = BYTES - (os.path.getsize(path) if os.path.exists(path) else 0)
        with open(path, "ab") as out:
            out.write(text.encode(errors="replace")[:left])
