import Foundation

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

    /// Whether what is sent there can be read on the way: over `http`, and not to this machine.
    package var isUnencrypted: Bool { scheme == "http" && !isLoopback }

    static func isAddress(_ host: some StringProtocol) -> Bool {
        if host.utf8.first == UInt8(ascii: "[") { return true }
        let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: true)
        guard let last = labels.last else { return false }
        if last.allSatisfy({ (0x30...0x39).contains($0) }) { return true }
        return last.count > 2 && last.prefix(2).elementsEqual("0x".utf8)
            && last.dropFirst(2).allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0 | 0x20) }
    }
}

/// An IP address of either version, as the bytes of the network.
struct IPAddress: Sendable, Hashable {
    let bytes: [UInt8]

    /// Reads an address; one of version 6 may be in brackets.
    init?(_ text: String) {
        var version4 = in_addr()
        var version6 = in6_addr()
        if unsafe inet_pton(AF_INET, text, &version4) == 1 {
            bytes = unsafe withUnsafeBytes(of: &version4) { unsafe Array($0) }
            return
        }
        let inner = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
        guard unsafe inet_pton(AF_INET6, inner, &version6) == 1 else { return nil }
        bytes = unsafe withUnsafeBytes(of: &version6) { unsafe Array($0) }
    }

    /// Reads a host in each form that systems read as an address, such as `127.1`, `0x7f.0.0.1` and `2130706433`; an address
    /// of version 4 that is mapped into version 6 is that of version 4 (RFC 4291, section 2.5.5.2).
    init?(host: String) {
        var version4 = in_addr()
        if unsafe inet_aton(host, &version4) != 0 {
            bytes = unsafe withUnsafeBytes(of: &version4) { unsafe Array($0) }
            return
        }
        // A zone names an interface of this machine, by which the same address is reached (RFC 6874).
        let address = host.contains("%") ? host.prefix { $0 != "%" } + "]" : host[...]
        guard let bytes = IPAddress(String(address))?.bytes else { return nil }
        let isMapped = bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
        self.bytes = isMapped ? Array(bytes.dropFirst(12)) : bytes
    }

    /// Whether the first bits of both addresses are the same; addresses of different versions share none.
    func sharesBits(_ count: Int, with other: IPAddress) -> Bool {
        guard bytes.count == other.bytes.count else { return false }
        let whole = count / 8
        guard bytes.prefix(whole) == other.bytes.prefix(whole) else { return false }
        let rest = count % 8
        return rest == 0 || (bytes[whole] ^ other.bytes[whole]) >> UInt8(8 - rest) == 0
    }
}
