// Platform: the operating system, behind types that are hard to misuse.
//
// - It is the only room that imports the C library and calls POSIX. Other rooms see file descriptors with one owner
//   (`FileDescriptor`), clocks, disks, sockets, TLS connections, threads and signals.
// - The disk, the clock and randomness are protocols, so that the simulator can replace them.
// - A failed call throws a `SystemError` with the call's name, its subject and errno.
// - It does not know events, the journal or the configuration, and makes no decisions for them.
