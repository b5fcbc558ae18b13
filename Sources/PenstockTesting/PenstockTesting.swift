// PenstockTesting: what an application's own tests need. Events are kept instead of sent, and
// expectations about them fail with the difference in the message.
