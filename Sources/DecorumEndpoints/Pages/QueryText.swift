import Decorum

/// The query of a path, whose items are changed without a change to the others.
enum QueryText {
    /// The first value of a name, decoded; nil where there is none.
    static func value(of name: String, in path: String) -> String? {
        items(of: path).first { nameOf($0) == name }.map { item in
            decoded(item.drop { $0 != UInt8(ascii: "=") }.dropFirst())
        }
    }

    /// The path with one value for a name, behind the items of other names.
    static func setting(_ name: String, to value: String, in path: String) -> String {
        let kept = items(of: path).filter { nameOf($0) != name }.map { String(Substring($0)) }
        let item = "\(PercentCoding.encode(name))=\(PercentCoding.encode(value))"
        return path.prefix { $0 != "?" } + "?" + (kept + [item]).joined(separator: "&")
    }

    private static func items(of path: String) -> [Substring.UTF8View.SubSequence] {
        path[...].utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst().split(separator: UInt8(ascii: "&"))
    }

    private static func nameOf(_ item: Substring.UTF8View) -> String {
        decoded(item.prefix { $0 != UInt8(ascii: "=") })
    }

    private static func decoded(_ bytes: Substring.UTF8View) -> String {
        String(decoding: PercentCoding.decode(Array(bytes)[...]), as: UTF8.self)
    }
}
