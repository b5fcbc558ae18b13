/// A compiled transform. (Seam.)
package enum Transform: Sendable {}
