// Control: how `penstock` and the daemon communicate: HTTP/1.1 with JSON over the daemon's Unix socket, so that `curl
// --unix-socket` works too.
//
// - Anybody who can open the socket may do everything. The file's mode (0600) is the permission.
// - Everything has a bound: the size of a request's body, an answer and a line, the number of connections, and every
//   wait.
// - Each request is answered exactly once. If the handler drops a request unanswered, the answer is 500.
// - A client that does not read harms only itself: its lines are dropped and counted.
// - This room knows HTTP and the format of the reports. The handler carries out the requests. The room never reads a
//   configuration and never touches the pipeline.
