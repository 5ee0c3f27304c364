/// The encoding of text, checked.
enum UTF8Text {
    /// Tells whether bytes are UTF-8 without a NUL, which text does not hold.
    static func isValid(_ bytes: [UInt8]) -> Bool {
        !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
    }
}
