extension Origin {
    /// Whether the host is an IP address and not a name.
    ///
    /// A last part of digits, or of digits after `0x`, counts as the end of an IPv4 address, since systems read `127.1` and
    /// `0x7f.1` as addresses too (WHATWG URL, section 3.5).
    public var hasAddress: Bool { Self.isAddress(host) }

    /// Whether the host is this machine: `localhost` and the names below it (RFC 6761, section 6.3), `127.0.0.0/8`, and `[::1]`.
    var isLoopback: Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    static func isAddress(_ host: some StringProtocol) -> Bool {
        if host.utf8.first == UInt8(ascii: "[") { return true }
        let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: true)
        guard let last = labels.last else { return false }
        if last.allSatisfy({ (0x30...0x39).contains($0) }) { return true }
        return last.count > 2 && last.prefix(2).elementsEqual("0x".utf8)
            && last.dropFirst(2).allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0 | 0x20) }
    }
}
