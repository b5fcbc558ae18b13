import Journal

/// A dead letter as the journal keeps it; Delivery's has the same name. (Both modules hold a type of
/// the module's own name, which hides the module, so neither can be named in full.)
package typealias KeptDeadLetter = DeadLetter
