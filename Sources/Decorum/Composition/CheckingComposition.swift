import Foundation

extension Connection {
    /// Checks the order and the settings of the layers, once, where the stack is composed.
    ///
    /// ```swift
    /// let connection = try SystemConnection()
    ///     .authenticating(with: .bearer(token), for: api)
    ///     .retrying()
    ///     .followingRedirects()
    ///     .limitingTime()
    ///     .checked()
    /// ```
    ///
    /// It adds no layer, and a request costs nothing more. A finding that is intended is accepted with its reason:
    /// `checked(accepting: [.unlimitedCall: "The job that calls has a deadline."])`. The check knows only what layers
    /// declare: ``Composition/unknownLayers`` lists those that declare nothing.
    ///
    /// - Parameters:
    ///   - lowest: The lowest severity that is refused. By default, warnings and information are not refused;
    ///     ``findings`` has them.
    ///   - reasons: The hazards that are intended, each with the reason.
    /// - Returns: The connection itself.
    /// - Throws: ``CompositionError`` with all findings that are refused.
    public func checked(
        refusing lowest: Finding.Severity = .error, accepting reasons: [Hazard: String] = [:]
    ) throws(CompositionError) -> Self {
        let composition = composition.accepting(reasons)
        let refused = composition.findings.filter { $0.severity >= lowest }
        guard refused.isEmpty else { throw CompositionError(composition: composition, refused: refused) }
        return self
    }
}

/// A stack has findings that were refused.
public struct CompositionError: DescribableError, Sendable {
    /// The stack with all of its findings.
    public let composition: Composition
    /// The findings that were refused, most serious first.
    public let refused: [Finding]

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - composition: The stack with all of its findings.
    ///   - refused: The findings that were refused.
    public init(composition: Composition, refused: [Finding]) {
        self.composition = composition
        self.refused = refused
    }

    /// The refused findings, one a line, and the marked layers.
    public var description: String {
        let count = refused.count == 1 ? "a finding" : "\(refused.count) findings"
        return (["The check of the stack has \(count):"] + refused.map(\.description) + [composition.markedLayers])
            .joined(separator: "\n")
    }
}
