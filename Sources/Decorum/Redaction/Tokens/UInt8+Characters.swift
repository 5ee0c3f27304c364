extension UInt8 {
    var isDecimalDigit: Bool { (0x30...0x39).contains(self) }
    var isASCIILetterOrDigit: Bool { isDecimalDigit || (0x61...0x7A).contains(self | 0x20) }
}
