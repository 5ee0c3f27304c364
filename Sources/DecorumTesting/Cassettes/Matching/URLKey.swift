import Decorum

/// A URL in the form in which two that mean the same are the same (RFC 3986, section 6.2).
///
/// Scheme and host are in lower case, the default port and the fragment are gone, percent-encoding is the least that is
/// needed, and query items are ordered by their names; items of one name keep their order.
enum URLKey {
    static func key(of url: String, ignoring names: SecretNames) -> [UInt8] {
        let bytes = Array(url.utf8)
        let end = bytes.firstIndex(of: UInt8(ascii: "#")) ?? bytes.endIndex
        let authority = authority(in: bytes[..<end])
        let query = bytes[authority.upperBound..<end].firstIndex(of: UInt8(ascii: "?")) ?? end

        var key = bytes[..<authority.lowerBound].map(\.inLowerCase)
        let scheme = key.prefix { $0 != UInt8(ascii: ":") }
        key += host(bytes[authority], scheme: scheme)
        if query == authority.upperBound, !authority.isEmpty { key.append(UInt8(ascii: "/")) }
        append(bytes[authority.upperBound..<query], isQuery: false, to: &key)
        if query < end {
            let items = items(bytes[(query + 1)..<end], ignoring: names)
            if !items.isEmpty { key.append(UInt8(ascii: "?")) }
            key += items.joined(separator: [UInt8(ascii: "&")])
        }
        return key
    }

    private static func authority(in url: ArraySlice<UInt8>) -> Range<Int> {
        let start = url.indices.first { index in
            url[index] == UInt8(ascii: "/") && index + 1 < url.endIndex && url[index + 1] == UInt8(ascii: "/")
        }
        guard let start else { return url.startIndex..<url.startIndex }
        let rest = url[(start + 2)...]
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? url.endIndex
        return rest.startIndex..<end
    }

    private static func host(_ authority: ArraySlice<UInt8>, scheme: ArraySlice<UInt8>) -> [UInt8] {
        let lower = authority.map(\.inLowerCase)
        guard let colon = lower.lastIndex(of: UInt8(ascii: ":")) else { return lower }
        let port = lower[(colon + 1)...]
        let isDefault =
            port.isEmpty || port.elementsEqual("443".utf8) && scheme.elementsEqual("https".utf8)
            || port.elementsEqual("80".utf8) && scheme.elementsEqual("http".utf8)
        return isDefault ? Array(lower[..<colon]) : lower
    }

    static func items(_ query: ArraySlice<UInt8>, ignoring names: SecretNames) -> [[UInt8]] {
        let items = query.split(separator: UInt8(ascii: "&")).map { item in
            var key: [UInt8] = []
            append(item, isQuery: true, to: &key)
            return key
        }
        guard items.count > 1 || !names.isEmpty else { return items }
        let named = items.enumerated().map { (name: Array($1.prefix { $0 != UInt8(ascii: "=") }), index: $0, item: $1) }
        return
            named
            .filter { !names.contains(String(decoding: $0.name, as: UTF8.self)) }
            .sorted { $0.name == $1.name ? $0.index < $1.index : $0.name.lexicographicallyPrecedes($1.name) }
            .map(\.item)
    }

    private static func append(_ part: ArraySlice<UInt8>, isQuery: Bool, to key: inout [UInt8]) {
        var index = part.startIndex
        while index < part.endIndex {
            var byte = part[index]
            index += 1
            if byte == UInt8(ascii: "%"), index + 1 < part.endIndex,
                let high = PercentCoding.hexDigit(part[index]), let low = PercentCoding.hexDigit(part[index + 1])
            {
                byte = high << 4 | low
                index += 2
                byte.isUnreserved ? key.append(byte) : encode(byte, to: &key)
            } else if isQuery, byte == UInt8(ascii: "+") {
                encode(0x20, to: &key)
            } else if byte.isAllowedInURL {
                key.append(byte)
            } else {
                encode(byte, to: &key)
            }
        }
    }

    private static func encode(_ byte: UInt8, to key: inout [UInt8]) {
        key.append(UInt8(ascii: "%"))
        key.append(Self.digits[Int(byte >> 4)])
        key.append(Self.digits[Int(byte & 15)])
    }

    private static let digits = Array("0123456789ABCDEF".utf8)
}

extension UInt8 {
    fileprivate var inLowerCase: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }

    fileprivate var isUnreserved: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    fileprivate var isAllowedInURL: Bool {
        switch self {
        case 0...0x20, 0x7F..., UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
            UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
            false
        default: true
        }
    }
}
