/// Percent-encoding that appends to bytes that are being built, so that a typed call makes one text and no others.
enum PercentBytes {
    /// Appends a text with all but its unreserved characters encoded (RFC 3986, section 2.3).
    static func append(_ text: String, to bytes: inout [UInt8]) {
        var text = text
        // The pointer is that of the closure, which does not keep it.
        text.withUTF8 { text in
            // Most values need no escape, and are appended at once.
            guard unsafe text.allSatisfy(isUnreserved) else {
                for index in text.indices {
                    let byte = unsafe text[index]
                    if isUnreserved(byte) { bytes.append(byte) } else { appendEscape(byte, to: &bytes) }
                }
                return
            }
            unsafe bytes.append(contentsOf: text)
        }
    }

    /// Appends a text as forms encode it (URL Standard, section 5.2).
    @inline(__always) static func appendForm(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: " "): bytes.append(UInt8(ascii: "+"))
            case UInt8(ascii: "*"): bytes.append(byte)
            case UInt8(ascii: "~"): appendEscape(byte, to: &bytes)
            default: if isUnreserved(byte) { bytes.append(byte) } else { appendEscape(byte, to: &bytes) }
            }
        }
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x61...0x7A, 0x41...0x5A, 0x30...0x39, 0x2D, 0x2E, 0x5F, 0x7E: true
        default: false
        }
    }

    private static func appendEscape(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "%"))
        bytes.append(digit(byte >> 4))
        bytes.append(digit(byte & 15))
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
