/* What the plugin's process may not do. */
#ifndef PENSTOCK_CONFINE_H
#define PENSTOCK_CONFINE_H

/* Closes inherited descriptors, leaves the daemon's session, ignores the signals that end a service (the daemon says
 * when to stop), ends before the daemon if memory runs out, and permanently forbids: new privileges, other programs and
 * processes, signals to other processes, and, where the kernel has Landlock, a look into their memory. */
void confine(void);

#endif
