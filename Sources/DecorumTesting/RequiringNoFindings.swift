public import Decorum

/// Throws unless the check of a stack finds nothing, not even information.
///
/// ```swift
/// @Test func `The stack is sound`() throws {
///     try requireNoFindings(in: appStack(over: StubConnection(), clock: VirtualClock()))
/// }
/// ```
///
/// Compose the stack with the clock of the test: over a double, layers that wait by the clock of the system are a finding.
/// A layer that declares nothing is no finding; a printed connection marks it. With Swift Testing, `expectNoFindings` of
/// `DecorumTestingTraits` reports each finding by itself.
///
/// - Parameters:
///   - connection: The stack.
///   - reasons: The hazards that are intended, each with the reason.
/// - Throws: `CompositionError` with all findings.
public func requireNoFindings(
    in connection: some Connection, accepting reasons: [Hazard: String] = [:]
) throws(CompositionError) {
    _ = try connection.checked(refusing: .information, accepting: reasons)
}
