import Foundation

/// A document is not the JSON that is expected.
public struct JSONSyntaxError: DescribableError, Hashable {
    /// The fault, as a clause.
    public let reason: String
    /// The byte offset of the fault.
    public let offset: Int

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - reason: The fault, as a clause.
    ///   - offset: The byte offset of the fault.
    public init(reason: String, offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// The line of the fault, counted from 1.
    public func line(in bytes: [UInt8]) -> Int {
        bytes.prefix(offset).reduce(1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
    }
}

extension JSONSyntaxError {
    /// A sentence with the reason and the place.
    public var description: String { "The JSON cannot be read at byte \(offset): \(reason)." }
}
