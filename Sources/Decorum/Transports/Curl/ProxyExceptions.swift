#if os(Linux)
import Foundation

/// The hosts that are reached without a proxy, as `NO_PROXY` names them.
struct ProxyExceptions: Sendable {
    private enum Pattern: Sendable {
        case all
        /// A host, or a domain with its hosts, in lower case.
        case name(String)
        /// The addresses whose first bits are the same.
        case addresses(IPAddress, bits: Int)
    }

    private let entries: [(pattern: Pattern, port: Int?)]

    init(_ text: String) {
        let separators = ", \t"
        entries = text.split { separators.contains($0) }.compactMap { Self.entry(String($0).inLowerCase) }
    }

    func contains(_ origin: Origin) -> Bool {
        let host = origin.host.hasSuffix(".") ? String(origin.host.dropLast()) : origin.host
        let address = IPAddress(host)
        return entries.contains { pattern, port in
            guard port == nil || port == origin.port else { return false }
            return switch pattern {
            case .all: true
            case .name(let name): address == nil && (host == name || host.hasSuffix("." + name))
            case .addresses(let network, let bits): address?.sharesBits(bits, with: network) == true
            }
        }
    }

    private static func entry(_ text: String) -> (pattern: Pattern, port: Int?)? {
        if let pattern = pattern(text) { return (pattern, nil) }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
            let pattern = pattern(String(text[..<colon]))
        else { return nil }
        return (pattern, Int(port))
    }

    private static func pattern(_ text: String) -> Pattern? {
        if text == "*" { return .all }
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        if let address = parts.first.flatMap({ IPAddress(String($0)) }) {
            guard parts.count == 2 else { return .addresses(address, bits: address.bytes.count * 8) }
            guard let bits = UInt8(parts[1]), bits <= address.bytes.count * 8 else { return nil }
            return .addresses(address, bits: Int(bits))
        }
        var name = Substring(text)
        if name.hasPrefix("*.") { name = name.dropFirst() }
        if name.hasPrefix(".") { name = name.dropFirst() }
        if name.hasSuffix(".") { name = name.dropLast() }
        guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && !":/[]*".utf8.contains($0) }) else { return nil }
        return .name(String(name))
    }
}
#endif
