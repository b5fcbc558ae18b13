/// A compiled filter. (Seam: the parser and evaluator fill it.)
package struct Filter: Sendable {
    package static let always = Filter()
    package init() {}
}
