// PenstockHTTP: a provider for machines without a daemon. It sends events to a service with Segment's HTTP API.
//
// It is a product of its own, because URLSession brings a large part of Foundation: a static program with only
// `Penstock` is a quarter of the size. `HTTPOutbox` is a pure state machine that decides what is sent and when;
// `HTTPWorker` performs its decisions in its own thread, and `HTTPClient` connects it with the threads that record.
