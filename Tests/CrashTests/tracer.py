"""strace, which makes selected system calls of selected threads fail without executing them."""

import collections
import pathlib
import re
import shutil
import signal
import subprocess

from daemon import eventually
from trial import Skipped

# The names of the calls in this code, with strace's expressions for them (architectures differ).
CALLS = {
    "pwrite64": "pwrite64", "pread64": "pread64", "fdatasync": "fdatasync", "fsync": "fsync", "openat": "openat",
    "rename": "/^rename(at|at2)?$", "unlink": "/^unlink(at)?$", "fallocate": "fallocate", "ftruncate": "ftruncate",
}


def check_strace():
    if not shutil.which("strace") or subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode:
        raise Skipped("needs strace and permission to use it")


def words(call=None, error=None, when=None):
    """The options of strace: watch all calls, or make one fail."""
    if error is None:
        return ["-e", "trace=" + ",".join(CALLS.values())]
    return ["-e", f"trace={CALLS[call]}", "-e", f"inject={CALLS[call]}:error={error}:when={when}"]


class Trace:
    """The output of strace."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    @property
    def text(self):
        return self.path.read_text(errors="replace") if self.path.exists() else ""

    @property
    def injected(self):
        """The number of calls that were made to fail, except those on the C library's own files."""
        return len(self._failed())

    def hit(self, file):
        """Whether a call on a file was made to fail whose path contains `file`."""
        return any(file in line for line in self._failed())

    def _failed(self):
        directory = str(self.path.parent)
        # -y also shows the working directory, which is this one.
        lines = self.text.replace(f"AT_FDCWD<{directory}>", "").splitlines()
        return [line for line in lines if "(INJECTED)" in line and directory in line]

    def counts(self):
        """The number of calls of each kind, of the thread with the most."""
        by_thread = collections.Counter(re.findall(r"^(\d+ +)?(\w+)\(", self.text, re.MULTILINE))
        counts = {}
        for (_, name), count in by_thread.items():
            call = next((call for call in CALLS if name.startswith(call)), None)
            if call:
                counts[call] = max(counts.get(call, 0), count)
        return counts


class Tracer:
    """strace on one thread of a running process. A context manager: leaving it detaches strace."""

    def __init__(self, thread, path, options):
        self.thread, self.trace, self.options = thread, Trace(path), options

    def __enter__(self):
        command = ["strace", "-y", "-o", self.trace.path, "-p", str(self.thread), *self.options]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        status = pathlib.Path(f"/proc/{self.thread}/status")
        eventually("strace has attached to the thread", lambda: "TracerPid:\t0\n" not in status.read_text())
        return self.trace

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
