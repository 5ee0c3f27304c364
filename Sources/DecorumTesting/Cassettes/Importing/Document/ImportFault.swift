/// A file cannot be imported; thrown by a reader, which does not know the name of the file.
public struct ImportFault: Error, Sendable, Hashable {
    /// The place of the cause: a JSON path, a line, or both; nil for the whole file.
    public let place: String?
    /// The line of the cause, counted from 1; nil if it is not known.
    public let line: Int?
    /// The cause, as a clause without a secret.
    public let reason: String

    /// Creates a fault.
    ///
    /// - Parameters:
    ///   - place: The place of the cause; nil for the whole file.
    ///   - line: The line of the cause, counted from 1.
    ///   - reason: The cause, as a clause without a secret.
    public init(place: String?, line: Int? = nil, reason: String) {
        self.place = place
        self.line = line
        self.reason = reason
    }
}

extension ImportFault {
    /// The same cause at a place, unless it already has one.
    func located(at node: StoredNode) -> Self {
        place == nil ? node.fault(reason) : self
    }
}
