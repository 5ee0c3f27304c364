public import Decorum
public import Testing

/// Expects that the check of a stack finds nothing, and records an issue for each finding.
///
/// ```swift
/// @Test func `The stack is sound`() {
///     expectNoFindings(in: appStack(over: StubConnection(), clock: VirtualClock()))
/// }
/// ```
///
/// Compose the stack with the clock of the test: over a double, layers that wait by the clock of the system are a finding.
/// A layer that declares nothing is no finding; a printed connection marks it.
///
/// - Parameters:
///   - connection: The stack.
///   - reasons: The hazards that are intended, each with the reason.
///   - sourceLocation: The place of the call, which the issues name.
public func expectNoFindings(
    in connection: some Connection, accepting reasons: [Hazard: String] = [:],
    sourceLocation: SourceLocation = #_sourceLocation
) {
    for finding in connection.findings where reasons[finding.hazard] == nil {
        Issue.record("\(finding)\n\(connection)", sourceLocation: sourceLocation)
    }
}
