/* What the plugin's process may not do. */
#ifndef PENSTOCK_CONFINE_H
#define PENSTOCK_CONFINE_H

/* Closes inherited descriptors, leaves the daemon's session, and ignores the signals that end a service (the daemon
 * tells the process when to stop). Permanently forbids new privileges, other programs and processes, and signals to
 * other processes. */
void confine(void);

#endif
