// Delivery sends the journal's events to one destination and accounts for every one of them.
//
// A worker (DeliveryWorker) serves one destination. It reads the journal, routes each event, collects routed events
// into batches, offers the batches to the destination, and settles each event by the outcome that the destination
// reports. An event is settled when it is delivered, filtered out, or durably dead-lettered. A replay, or a retry of
// dead letters, is a backfill: a second pass beside live delivery, with its own window, breaker and account (Backfill).
//
// Invariants
// - The cursor names a position below which every event is settled. It advances only after the destination's
//   `checkpoint()` has made durable what the destination took. So a crash may repeat events, but never skips one.
// - The default outcome is retry. A dropped claim, a missing outcome and an unknown outcome all mean that the events
//   are offered again.
// - Batches are offered in journal order. While a batch waits for its retry, no newer batch is offered. A failure can
//   reorder, and a crash can repeat, only what was in flight. With `order: user` this holds for each user's events
//   instead, and other users' events continue (UserQueues).
// - A batch is offered only when every event below it is settled or in flight, and all dead letters below it are
//   durable. With `order: user`, events may also wait in their user's queue. So a destination that takes one batch at a
//   time may record the position of the batch's first event as settled before it writes the batch.
// - Memory is bounded: (in flight + 2) batches and one read of the journal. `order: user` adds 16 batches. A backfill
//   adds its share of the in-flight window, 2 batches and one read.
// - Live delivery comes first. A backfill reads and offers only when live delivery has nothing to do.
//
// Threads: the turns of one worker never overlap. A destination that may block (files, plugins) has its own thread
// (WorkerRunner). HTTP destinations share the few threads of a pool (RoutingPool), and each turn may run on any of
// them. Outcomes arrive from any thread through SettlementInbox.
//
// A tap (DeliveryTap) sees verdicts and outcomes. The worker never waits for it, and it changes nothing.
//
// What it never does: drop an event; call an event delivered that the destination did not report as delivered; wait
// inside a turn that runs on the pool; depend on the kind of destination that it serves.
