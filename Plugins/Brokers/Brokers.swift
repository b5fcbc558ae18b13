// Brokers: what the plugins for message brokers share. A template makes a message's subject or topic from an event
// (EventTemplate, EventFields), and InFlight settles batches whose messages are acknowledged one by one.
//
// It knows no broker, and calls no C library.
