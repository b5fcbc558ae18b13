"""Mount and process namespaces, in which tests start servers and mount filesystems."""

import os
import signal
import subprocess
import sys

INSIDE = "PENSTOCK_CRASH_NAMESPACE"


def enter():
    """Restarts this program in namespaces that vanish with it, however it ends: with their mounts and processes."""
    if os.geteuid() or INSIDE in os.environ:
        return
    words = ["setpriv", "--pdeathsig", "KILL"]
    words += ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]
    try:
        subprocess.run([*words, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return
    inside = subprocess.Popen([*words, sys.executable, *sys.argv], env={**os.environ, INSIDE: "1"})
    # Ctrl-C also reaches the inner program, which cleans up. unshare(1) itself reacts to SIGKILL only.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: inside.kill())
    status = inside.wait()
    sys.exit(status if status >= 0 else 128 - status)
