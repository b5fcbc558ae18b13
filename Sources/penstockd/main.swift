import Daemon
print("penstockd")
