public import HTTPTypes

extension HTTPFields {
    /// The value of the first field of a name; faster than the subscript, which searches all fields and joins their
    /// values.
    func firstValue(of name: HTTPField.Name) -> String? {
        first { $0.name == name }?.value
    }

    /// Whether there is a field of a name; faster than `contains`, since most names have another length.
    func has(_ name: HTTPField.Name) -> Bool {
        let length = name.canonicalName.utf8.count
        for index in indices {
            let other = self[index].name.canonicalName
            if other.utf8.count == length, other == name.canonicalName { return true }
        }
        return false
    }

    /// Whether both have the same fields of a name.
    func hasSame(_ name: HTTPField.Name, as other: HTTPFields) -> Bool {
        lazy.filter { $0.name == name }.elementsEqual(other.lazy.filter { $0.name == name })
    }

    /// Replaces all fields of each given name.
    mutating func override(with fields: HTTPFields) {
        // A single new field, such as a token, needs no search for other fields of its name.
        if fields.count == 1, let field = fields.first, !has(field.name) {
            add(field)
            return
        }
        for (index, field) in fields.enumerated() where !fields[..<index].contains(where: { $0.name == field.name }) {
            let isAlone = !fields[(index + 1)...].contains { $0.name == field.name }
            if isAlone, !has(field.name) {
                add(field)
            } else {
                self[fields: field.name] = fields[fields: field.name]
            }
        }
    }

    /// Adds each field whose name was absent before.
    mutating func add(defaults: HTTPFields) {
        let ownCount = count
        for index in defaults.indices {
            let field = defaults[index]
            // Most names are absent. A name that this call added may still be given a second time.
            let isNew = !has(field.name) || !self[..<ownCount].contains { $0.name == field.name }
            if isNew { add(field) }
        }
    }

    /// Adds a field at the end, with room for the fields of layers further in: without it, the next of them would copy all
    /// fields to make room for its own.
    mutating func add(_ field: HTTPField) {
        // A long list has its room in proportion to its length, which only `append` gives.
        if count < 32 { reserveCapacity((count + 8) & ~7) }
        append(field)
    }
}

extension HTTPRequest.Method {
    /// Whether the method is safe (RFC 9110, section 9.2.1); an unknown method counts as unsafe.
    public var isSafe: Bool {
        switch rawValue {
        case "GET", "HEAD", "OPTIONS", "PRI", "PROPFIND", "QUERY", "REPORT", "SEARCH", "TRACE": true
        default: false
        }
    }

    /// The methods of RFC 9110 that are idempotent (section 9.2.2), and `QUERY`.
    static let idempotent: Set<HTTPRequest.Method> = [.get, .head, .options, .trace, .put, .delete, .query]
}

extension HTTPResponse {
    /// The code of the status.
    package var code: Int { status.code }
}

/// The names in `Vary`: the request fields that selected this response (RFC 9110, section 12.5.5).
struct Vary: Sendable, Equatable {
    /// Whether `Vary` is `*`: any part of the request may have selected the response, so that no other request matches.
    private(set) var isAny = false
    private(set) var names: Set<HTTPField.Name> = []

    init(_ fields: HTTPFields) {
        guard fields.has(.vary) else { return }
        for field in fields where field.name == .vary {
            for member in ListMembers(field.value) {
                if let name = HTTPField.Name(String(member)), member != "*" {
                    names.insert(name)
                } else {
                    isAny = true
                }
            }
        }
    }
}

/// Splits `Set-Cookie` fields that a platform or a recorder has joined with commas.
///
/// A comma may be part of a cookie, as in `Expires=Thu, 01 Jan`. A new cookie starts after a comma where a name and an
/// equals sign follow (RFC 6265, section 4.1.1). A value that itself holds `, name=` is split in the wrong place,
/// because it looks exactly like two cookies.
package enum SetCookieSplitting: Sendable {
    package static func split(_ joined: String) -> [String] {
        let bytes = joined.utf8
        var cookies: [String] = []
        var start = bytes.startIndex
        var index = start
        while let comma = bytes[index...].firstIndex(of: UInt8(ascii: ",")) {
            let next = bytes[bytes.index(after: comma)...].firstIndex { !isBlank($0) } ?? bytes.endIndex
            let nameEnd = bytes[next...].firstIndex { !isTokenByte($0) } ?? bytes.endIndex
            if nameEnd > next, nameEnd < bytes.endIndex, bytes[nameEnd] == UInt8(ascii: "=") {
                cookies.append(String(joined[start..<comma]))
                start = next
            }
            index = nameEnd
        }
        cookies.append(String(joined[start...]))
        return cookies
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
}

extension HTTPRequest {
    /// A head for a report without fields, so that the request stays the only owner of its fields and adding a field
    /// copies nothing.
    package var withoutFields: HTTPRequest { HTTPRequest(pseudoHeaderFields) }

    // A head gives the value of a part; the parts give a copy of a field, with its name.
    init(_ parts: PseudoHeaderFields) {
        self = Self.empty
        pseudoHeaderFields = parts
    }

    private static let empty = HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil)
}

/// A set of field names.
struct FieldNames: Sendable {
    private let table: FieldClassTable

    /// Creates a set of names.
    init(_ names: Set<HTTPField.Name>) { table = FieldClassTable([(names, FieldClasses(rawValue: 1))]) }

    func contains(_ name: HTTPField.Name) -> Bool { !table.classes(of: name).isEmpty }

    /// A number that differs for most names.
    static func hash(of name: HTTPField.Name) -> Int {
        // This reads the bytes only once: a stack calls it for each field of each request.
        let bytes = name.canonicalName.utf8
        return unsafe bytes.withContiguousStorageIfAvailable { unsafe hash(of: $0) } ?? hash(of: Array(bytes))
    }

    @inline(__always)
    private static func hash(of name: some RandomAccessCollection<UInt8>) -> Int {
        61 &* Int(name.first ?? 0) &+ 5 &* Int(name.last ?? 0) &+ 131 &* name.count
    }
}

/// The classes of field names that decide which responses a request may get.
struct FieldClasses: OptionSet, Sendable {
    let rawValue: UInt8

    /// A directive to a cache, a condition or a range.
    static let cacheControls = FieldClasses(rawValue: 1)
    static let cookies = FieldClasses(rawValue: 2)
    /// Tells the server nothing about the user: see ``NeutralFields``.
    static let neutral = FieldClasses(rawValue: 4)
    /// Is secret by the standard redaction, or names the user or the server.
    static let telling = FieldClasses(rawValue: 8)
}

/// The classes of many names.
///
/// The first letter, the last letter and the length of a name choose its place, which is empty for most names without a class.
struct FieldClassTable: Sendable {
    /// All classes of the names at each place.
    private var places: [FieldClasses]
    // Comparing one or two short texts takes less time than hashing one.
    private var names: [[(name: String, classes: FieldClasses)]]

    init(_ classes: [(names: Set<HTTPField.Name>, class: FieldClasses)]) {
        var byName: [HTTPField.Name: FieldClasses] = [:]
        for (names, member) in classes {
            for name in names { byName[name, default: []].insert(member) }
        }
        var size = 64
        while size < 8 * byName.count { size *= 2 }
        places = Array(repeating: [], count: size)
        names = Array(repeating: [], count: size)
        for (name, classes) in byName {
            let place = FieldNames.hash(of: name) & (size - 1)
            places[place].insert(classes)
            names[place].append((name.canonicalName, classes))
        }
    }

    func classes(of name: HTTPField.Name) -> FieldClasses {
        let place = FieldNames.hash(of: name) & (places.count - 1)
        guard !places[place].isEmpty else { return [] }
        return names[place].first { $0.name == name.canonicalName }?.classes ?? []
    }
}

/// The kind of content, by its media type; unknown without one.
package enum ContentKind: Sendable, Hashable {
    // JSON may be one document, lines, or a sequence. In text, values have no names.
    case json, form, multipart, markup, text, binary, unknown

    package init(mediaType: String?) {
        guard let mediaType else {
            self = .unknown
            return
        }
        let essence = mediaType.prefix { $0 != ";" && $0 != "," }.filter { !$0.isWhitespace }.lowercased()
        if essence.hasSuffix("json") || essence.hasPrefix("application/x-amz-json") || essence.hasSuffix("jsonl")
            || essence.hasSuffix("/json-seq") || essence == "application/csp-report"
        {
            self = .json
        } else if essence == "application/x-www-form-urlencoded" {
            self = .form
        } else if essence.hasPrefix("multipart/") {
            self = .multipart
        } else if essence.hasSuffix("xml") || essence == "text/html" {
            self = .markup
        } else if essence.hasPrefix("text/") || essence == "application/javascript" {
            self = .text
        } else {
            self = .binary
        }
    }
}

extension String {
    /// A media type without its parameters and in lower case, as in `text/html` of `Text/HTML; charset=utf-8`.
    package var mediaTypeEssence: String {
        prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased()
    }
}
