/// Arithmetic on numbers from outside: a file's times and sizes, a request's bounds, a restored backup. A result
/// that does not fit is held at the nearest end of the type, so that no such number ends the process.
extension FixedWidthInteger {
    @inlinable
    package func saturatingAdd(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    @inlinable
    package func saturatingSubtract(_ other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        // Without a sign, only a result below 0 does not fit.
        return overflow ? (Self.isSigned && other < 0 ? .max : .min) : difference
    }

    @inlinable
    package func saturatingMultiply(_ other: Self) -> Self {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
    }
}

extension Range<UInt64> {
    /// How many positions there are. `count` is an Int, and traps beyond Int.max.
    @inlinable
    package var length: UInt64 { upperBound - lowerBound }
}

extension Int64 {
    /// The whole part; a number outside of 64 bits is held at the nearest end, and NaN becomes 0.
    @inlinable
    package init(saturating number: Double) {
        self = number.isNaN ? 0 : Int64(exactly: number.rounded(.towardZero)) ?? (number < 0 ? .min : .max)
    }
}
