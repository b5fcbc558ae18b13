// PenstockTesting: tools for testing the events of an application. A provider keeps events instead of sending them;
// expectations about these events fail with a message that shows the difference; a real daemon runs for integration
// tests.
