public import Foundation

/// An error whose description may be logged, because it never holds a secret.
///
/// For any other error, logs and events show only the name of its type: its description may quote a URL. Conform your
/// own errors to this protocol to show their descriptions. `localizedDescription` is the description too.
public protocol DescribableError: LocalizedError, CustomStringConvertible {
    /// A name out of a small number, suitable for a metric; by default, the name of the type.
    var shortDescription: String { get }
}

extension DescribableError {
    /// The name of the type.
    public var shortDescription: String { String(describing: Self.self) }

    /// The description.
    public var errorDescription: String? { description }
}

/// A value that may hold a secret, of which logs, debuggers and `dump` see the description alone.
public protocol SecretHolder: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension SecretHolder {
    /// The description.
    public var debugDescription: String { description }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(describing: self, as: "description", description) }
}

extension Mirror {
    /// A mirror with one child.
    @inline(never) init(describing subject: Any, as label: String, _ text: Any) {
        self.init(subject, children: [label: text])
    }
}

/// A value that no description and no reflection shows.
struct Secret<Value: Sendable>: Sendable, SecretHolder {
    let value: Value
    var description: String { "redacted" }
}

extension Duration {
    /// The longest duration that layers reckon with, of 68 years; a time limit of this length sets no limit.
    package static let longest = Duration.seconds(1 << 31 as Int64)

    /// The duration, at most ``longest`` in each direction, so that sums and numbers of seconds do not overflow.
    package var bounded: Duration { min(max(self, .zero - .longest), .longest) }

    /// The whole seconds of a duration of at least zero, and the attoseconds of the rest.
    var parts: (seconds: Int64, attoseconds: Int64) {
        // Most durations are short, and 64 bits are divided in much less time than 128.
        guard 0...Int128(Int64.max) ~= attoseconds else {
            return min(max(self, .zero), .seconds(Int64.max - 43_200)).components
        }
        let (all, second) = (Int64(truncatingIfNeeded: attoseconds), 1_000_000_000_000_000_000 as Int64)
        return (all / second, all % second)
    }

    /// The limit of time that the duration sets; nil if it is so long that it sets no limit.
    package var asLimit: Duration? { self < .longest ? bounded : nil }

    // To join two texts takes less time than the interpolation of two numbers, and most lines of a log have two durations.
    private static let tenthsOfMilliseconds = (0..<10).map { ".\($0) ms" }

    /// The duration as short text, as in `0.4 ms`, `12.3 ms`, `2.51 s`, `15 min`, `3 h` or `90 days`; a negative duration
    /// counts as zero.
    package var shortText: String { String(shortParts.number) + shortParts.rest }

    /// The number that the short text begins with, and what follows it.
    var shortParts: (number: Int64, rest: String) {
        let (seconds, attoseconds) = parts
        if seconds >= 172_800 { return ((seconds + 43_200) / 86_400, " days") }
        if seconds >= 7_200 { return ((seconds + 1_800) / 3_600, " h") }
        if seconds >= 600 { return ((seconds + 30) / 60, " min") }
        if seconds > 0 {
            let hundredths = attoseconds / 10_000_000_000_000_000
            return (seconds, ".\(hundredths < 10 ? "0" : "")\(hundredths) s")
        }
        let tenths = attoseconds / 100_000_000_000_000
        return (tenths / 10, Self.tenthsOfMilliseconds[Int(tenths % 10)])
    }
}
