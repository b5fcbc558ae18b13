/// Arithmetic on untrusted numbers: file times and sizes, the bounds of a request, a restored backup. A result that
/// does not fit saturates at the type's nearest bound, so that no such number can trap.
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
    /// The number of elements. `count` is an Int and traps above Int.max.
    @inlinable
    package var length: UInt64 { upperBound - lowerBound }
}

extension Int64 {
    /// The integer part. A number outside 64 bits saturates at the nearest bound; NaN becomes 0.
    @inlinable
    package init(saturating number: Double) {
        self = number.isNaN ? 0 : Int64(exactly: number.rounded(.towardZero)) ?? (number < 0 ? .min : .max)
    }
}
