"""A filesystem that a test may break: an image file on a loop device, or a tmpfs."""

import os
import pathlib
import shutil
import subprocess

from daemon import Failure, eventually
from trial import Skipped

NEEDS = "needs root and loop devices"


def run(*words):
    answer = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if answer.returncode:
        raise Failure(f"{' '.join(map(str, words))}: {answer.stderr.strip()}")
    return answer.stdout


class Volume:
    def __init__(self, trial, kind, size="400M", options=""):
        """`kind`: ext4, xfs or tmpfs. The volume is mounted now and unmounted at the trial's end."""
        if os.geteuid():
            raise Skipped(NEEDS)
        self.image = trial.directory / "image"
        self.path = trial.directory / "volume"
        self.path.mkdir()
        self.kind, self.size, self.options = kind, size, options
        try:
            if kind != "tmpfs":
                run("truncate", "-s", size, self.image)
                if not shutil.which(f"mkfs.{kind}"):
                    raise Skipped(f"needs mkfs.{kind}")
                run(f"mkfs.{kind}", "-q", self.image)
            self.mount()
        except Failure as failure:
            raise Skipped(f"{NEEDS}: {failure}") from None
        trial.at_end.append(self.close)

    def mount(self):
        # The loop device is removed with the mount.
        options = ["-o", ",".join(filter(None, ["loop", self.options]))]
        if self.kind == "tmpfs":
            run("mount", "-t", "tmpfs", "-o", f"size={self.size}", "tmpfs", self.path)
        else:
            run("mount", "-t", self.kind, *options, self.image, self.path)

    def remount(self, options):
        run("mount", "-o", f"remount,{options}", self.path)

    def cut_power(self, ledger):
        """From now on nothing reaches the disk. Data that has not reached it is lost."""
        ledger.era += 1
        run("xfs_io", "-x", "-c", "shutdown", self.path)

    def unmount(self):
        # A killed process is gone before the kernel has closed its last files.
        eventually(f"{self.path} can be unmounted", self._is_unmounted)

    def _is_unmounted(self):
        try:
            run("umount", self.path)
        except Failure as failure:
            if "busy" in str(failure):
                return False
            raise
        return True

    @property
    def loop_device(self):
        """The loop device's name, without /dev/."""
        return pathlib.Path(run("findmnt", "-n", "-o", "SOURCE", self.path).strip()).name

    def close(self):
        subprocess.run(["umount", "--lazy", self.path], capture_output=True)
