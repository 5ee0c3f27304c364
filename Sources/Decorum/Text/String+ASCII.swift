extension String {
    /// Whether each byte in UTF-8 satisfies a condition: what `utf8.allSatisfy` says, in a tenth of the time.
    @inline(__always) func allUTF8(_ isAcceptable: (UInt8) -> Bool) -> Bool {
        // The bytes are read within the closure alone.
        let answer = unsafe utf8.withContiguousStorageIfAvailable { bytes in unsafe bytes.allSatisfy(isAcceptable) }
        return answer ?? utf8.allSatisfy(isAcceptable)
    }
}

extension StringProtocol {
    /// The text in lower case; that of most schemes and hosts is, and is not made anew.
    var inLowerCase: String {
        utf8.allSatisfy { $0 < 0x80 && !(0x41...0x5A).contains($0) } ? String(self) : lowercased()
    }
}
