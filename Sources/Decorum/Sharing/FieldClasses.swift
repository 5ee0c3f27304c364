import HTTPTypes

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

    /// The classes of a name; the endings of ``SecretFieldNames`` come in addition to it.
    static func of(_ name: HTTPField.Name) -> FieldClasses { table.classes(of: name) }

    static let table = FieldClassTable([
        (
            [
                .cacheControl, .pragma, .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
            ], .cacheControls
        ),
        ([.cookie], .cookies),
        (NeutralFields.list, .neutral),
        (Redaction.standard.fields.union(ResponseKey.publicNames), .telling),
    ])
}

/// The classes of many names, which are found by hashing a name once.
struct FieldClassTable: Sendable {
    /// All classes of the names at each place, none at most of them.
    private var places: [FieldClasses]
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
