/// The characters that RFC 9651 tells apart.
extension UInt8 {
    var isPrintableASCII: Bool { (0x20...0x7E).contains(self) }

    var startsStructuredKey: Bool { isSmallLetter || self == UInt8(ascii: "*") }

    var continuesStructuredKey: Bool {
        switch self {
        case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "*"): true
        default: isSmallLetter || isDigit
        }
    }

    var startsStructuredToken: Bool { isLetter || self == UInt8(ascii: "*") }

    var continuesStructuredToken: Bool {
        switch self {
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"),
            UInt8(ascii: ":"), UInt8(ascii: "/"):
            true
        default: isLetter || isDigit
        }
    }

    private var isSmallLetter: Bool { (0x61...0x7A).contains(self) }
    private var isLetter: Bool { (0x61...0x7A).contains(self | 0x20) }
    private var isDigit: Bool { (0x30...0x39).contains(self) }
}

extension String {
    var isStructuredKey: Bool {
        utf8.first?.startsStructuredKey == true && allUTF8 { $0.continuesStructuredKey }
    }

    var isStructuredToken: Bool {
        utf8.first?.startsStructuredToken == true && allUTF8 { $0.continuesStructuredToken }
    }

    var isStructuredString: Bool { allUTF8 { $0.isPrintableASCII } }
}
