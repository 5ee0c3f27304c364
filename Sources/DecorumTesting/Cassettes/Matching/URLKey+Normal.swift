import Decorum

extension URLKey {
    /// Whether a URL is its own key: `http` or `https`, a host in lower case without a port, a path, and a query whose items
    /// are in the order of their names, without a fragment, an ignored item and percent-encoding.
    ///
    /// Most URLs are, and this check takes far less time than the key.
    static func isNormal(_ url: String, ignoring names: SecretNames) -> Bool {
        guard url.hasPrefix("https://") || url.hasPrefix("http://") else { return false }
        let answer = unsafe url.utf8.withContiguousStorageIfAvailable { bytes in
            guard let query = unsafe endOfNormalPath(bytes) else { return false }
            guard query < bytes.count else { return true }
            return unsafe names.isEmpty && isNormalQuery(bytes, from: query + 1)
        }
        return answer ?? false
    }

    /// The index of the question mark of a URL, or its end if it has none; nil if what is before it is not normal.
    private static func endOfNormalPath(_ url: UnsafeBufferPointer<UInt8>) -> Int? {
        var slashCount = 0
        for index in url.indices {
            let byte = unsafe url[index]
            switch byte {
            case UInt8(ascii: "/"): slashCount += 1
            case 0x61...0x7A, 0x30...0x39, UInt8(ascii: "-"), UInt8(ascii: "."): break
            // Behind the scheme, a colon begins a port.
            case UInt8(ascii: ":") where slashCount != 2: break
            case UInt8(ascii: "?"): return slashCount > 2 ? index : nil
            default: guard slashCount > 2, byte.standsInKey else { return nil }
            }
        }
        return slashCount > 2 ? url.count : nil
    }

    /// Whether the query from an index on is normal: it is not empty, and neither is any of its items.
    private static func isNormalQuery(_ url: UnsafeBufferPointer<UInt8>, from start: Int) -> Bool {
        var start = start
        var name = start..<start
        var equals: Int?
        for index in start...url.count {
            let byte = index < url.count ? unsafe url[index] : UInt8(ascii: "&")
            switch byte {
            case UInt8(ascii: "&"):
                let next = start..<(equals ?? index)
                guard unsafe index > start && isInOrder(name, next, in: url) else { return false }
                (name, equals, start) = (next, nil, index + 1)
            case UInt8(ascii: "="): equals = equals ?? index
            case UInt8(ascii: "+"): return false
            default: guard byte.standsInKey else { return false }
            }
        }
        return true
    }

    /// Whether a name does not come after another one.
    private static func isInOrder(
        _ name: Range<Int>, _ other: Range<Int>, in url: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        for (index, otherIndex) in zip(name, other) where unsafe url[index] != url[otherIndex] {
            return unsafe url[index] < url[otherIndex]
        }
        return name.count <= other.count
    }
}

extension UInt8 {
    /// Whether the byte stands in a key as it does in a URL, and begins neither an escape nor a fragment.
    fileprivate var standsInKey: Bool {
        isAllowedInURL && self != UInt8(ascii: "%") && self != UInt8(ascii: "#")
    }
}
