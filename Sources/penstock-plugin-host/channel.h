/* The socket from the daemon, and the pipe to it. */
#ifndef PENSTOCK_CHANNEL_H
#define PENSTOCK_CHANNEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Ends the process: the daemon is gone, or a message is not what this program expects. No destructor of the plugin
 * runs. */
_Noreturn void end_process(const char *reason);

/* Sends a header and `count` pieces as one message. Any thread. */
void send_message(uint32_t type, uint64_t token, const struct iovec *pieces, int count);

/* Receives exactly `size` bytes, and a descriptor if one comes with them (otherwise -1). The main thread. */
void receive(void *bytes, size_t size, int *descriptor);

/* Starts the thread that ends the process when the daemon closes the socket, whatever the plugin is doing. */
void watch_daemon(void);

#endif
