/// A line of a log while it is written, byte by byte: a string that grows by its parts takes three times as long.
struct LogLine {
    // Most lines are shorter. Bytes that are there already are written in less time than others are appended.
    private var bytes = [UInt8](repeating: 0, count: 240)
    private var count = 0

    mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { text in
            guard let start = text.baseAddress else { return }
            makeRoom(for: text.count)
            let end = count
            // This is safe because there is room for all bytes of the text.
            unsafe bytes.withUnsafeMutableBytes { line in
                unsafe line.baseAddress?.advanced(by: end).copyMemory(from: start, byteCount: text.count)
            }
            count += text.count
        }
    }

    private mutating func add(_ byte: UInt8) {
        makeRoom(for: 1)
        bytes[count] = byte
        count += 1
    }

    private mutating func makeRoom(for length: Int) {
        if length > bytes.count - count { bytes += Array(repeating: 0, count: max(length, bytes.count)) }
    }

    mutating func add(_ number: Int64) {
        if number < 0 { add(UInt8(ascii: "-")) }
        addDigits(of: number.magnitude)
    }

    mutating func add(_ number: Int) { add(Int64(number)) }

    private mutating func addDigits(of number: UInt64) {
        if number >= 10 { addDigits(of: number / 10) }
        add(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
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
        let bytes = bytes[..<count]
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
