import HTTPTypes

/// The directives of `Cache-Control` (RFC 9111, section 5.2).
struct CacheControl: Sendable, Equatable {
    private var directives: [(name: String, argument: String?)] = []

    /// Reads the directives of a message; what cannot be understood is passed over.
    init(_ fields: HTTPFields) {
        for field in fields where field.name == .cacheControl {
            for member in ListMembers(field.value) {
                let end = member.utf8.firstIndex(of: UInt8(ascii: "=")) ?? member.endIndex
                let name = member[..<end].inLowerCase
                let argument = end == member.endIndex ? nil : member[member.utf8.index(after: end)...]
                directives.append((name, argument.map { $0.trimmingQuotes() }))
            }
        }
    }

    /// Whether a directive is there, with or without an argument.
    func contains(_ name: String) -> Bool {
        directives.contains { $0.name == name }
    }

    static func == (lhs: CacheControl, rhs: CacheControl) -> Bool {
        lhs.directives.elementsEqual(rhs.directives, by: ==)
    }
}

extension Substring {
    fileprivate func trimmingQuotes() -> String {
        let quote = UInt8(ascii: "\"")
        guard utf8.count >= 2, utf8.first == quote, utf8.last == quote else { return String(self) }
        return String(dropFirst().dropLast())
    }
}
