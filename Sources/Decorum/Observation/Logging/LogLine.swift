/// A line of a log while it is written, byte by byte: a string that grows by its parts takes three times as long.
struct LogLine {
    private var bytes: [UInt8] = []

    init() {
        // Most lines are shorter.
        bytes.reserveCapacity(240)
    }

    mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { unsafe bytes.append(contentsOf: $0) }
    }

    mutating func add(_ number: Int64) {
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        addDigits(of: number.magnitude)
    }

    mutating func add(_ number: Int) { add(Int64(number)) }

    private mutating func addDigits(of number: UInt64) {
        if number >= 10 { addDigits(of: number / 10) }
        bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
    }

    /// Adds a duration as ``Duration/shortText`` writes it.
    mutating func add(_ duration: Duration) {
        let (seconds, attoseconds) = max(duration, .zero).components
        guard seconds < 600 else { return add(duration.shortText) }
        if seconds > 0 {
            let hundredths = attoseconds / 10_000_000_000_000_000
            add(seconds)
            add(hundredths < 10 ? ".0" : ".")
            add(hundredths)
            add(" s")
        } else {
            let tenths = attoseconds / 100_000_000_000_000
            add(tenths / 10)
            add(".")
            add(tenths % 10)
            add(" ms")
        }
    }

    /// The line with control characters as escapes, so that a value can neither start a line nor control a terminal.
    var text: String {
        let text = String(decoding: bytes, as: UTF8.self)
        // Most lines are plain ASCII, and looking up the category of each character is the slowest step.
        let isPlain = unsafe bytes.withUnsafeBufferPointer { bytes in
            // Without an early exit, many bytes are compared at a time.
            var others: UInt8 = 0
            for index in bytes.indices { unsafe others |= bytes[index] &- 0x20 > 0x5E ? 1 : 0 }
            return others == 0
        }
        return isPlain ? text : text.withoutControls
    }
}

extension String {
    /// The text with control characters as escapes.
    fileprivate var withoutControls: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        return unicodeScalars.map { $0.isControl ? $0.escaped(asASCII: true) : String($0) }.joined()
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
