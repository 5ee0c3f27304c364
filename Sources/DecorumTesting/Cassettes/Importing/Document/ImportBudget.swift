import Decorum
import Foundation

/// The part of the limits of a file that its reading has left.
struct ImportBudget: Sendable, Hashable {
    /// The cost of an attempt to decode anything, in bytes: the memory that a decoder initializes.
    private static let attemptCost = 4 << 10

    let limits: ImportLimits
    private var length: Int
    /// The number of values that may still be read.
    private(set) var count: Int

    init(_ limits: ImportLimits = .standard) {
        self.limits = limits
        length = limits.contentLength
        count = limits.valueCount
    }

    /// Counts bytes that came from an encoding, or from another file.
    mutating func spend(bytes: Int) throws(ImportFault) {
        guard bytes <= length else {
            let limit = limits.contentLength
            throw ImportFault(
                place: nil, reason: "its contents have more than \(limit) bytes once their encodings are undone")
        }
        length -= bytes
    }

    /// Counts an attempt to decode content.
    mutating func spendAttempt() throws(ImportFault) {
        try spend(bytes: Self.attemptCost)
    }

    /// Counts values that were read.
    mutating func spend(values: Int) throws(ImportFault) {
        guard values <= count else { throw ImportFault(place: nil, reason: "it has too many values") }
        count -= values
    }

    /// Throws if a message already has as many fields as it may have.
    func checkField(after count: Int) throws(ImportFault) {
        // HTTPTypes ends the process at 65,535 fields.
        let limit = min(limits.fieldCount, 10_000)
        guard count < limit else { throw ImportFault(place: nil, reason: "a message has more than \(limit) fields") }
    }
}
