import HTTPTypes

/// The fields of a request that decide which responses it may get, found in one pass over them.
struct TellingFields: Sendable {
    /// Whether the request has a field that a cache evaluates: a directive, a condition or a range.
    private(set) var hasCacheFields = false
    private(set) var hasCookie = false
    /// The fields by which a server distinguishes users.
    private(set) var credentials: [HTTPField] = []

    /// Finds the fields.
    ///
    /// - Parameters:
    ///   - fields: The fields of the request.
    ///   - secretFields: The names that the request declares secret.
    ///   - countsCookie: Whether a cookie is one of the credentials.
    init(_ fields: HTTPFields, declaredSecret secretFields: Set<HTTPField.Name>, countsCookie: Bool) {
        // Each access to a static value that is made at its first use takes a call.
        let (table, secretNames) = (FieldClasses.table, SecretFieldNames.standard)
        let isSecret = { (value: String) in
            value.utf8.count >= Self.shortestToken && Redaction.standard.isSecret(value: value)
        }
        for index in fields.indices {
            let name = fields[index].name
            let classes = table.classes(of: name)
            if !classes.isDisjoint(with: [.cacheControls, .cookies]) {
                if classes.contains(.cookies) { hasCookie = true } else { hasCacheFields = true }
            }
            // Most fields of most requests only say what the client accepts.
            let counts =
                fields[index].indexingStrategy == .disallow || (!secretFields.isEmpty && secretFields.contains(name))
                || !classes.contains(.neutral)
                    && (classes.contains(.telling) || secretNames.hasSecretEnding(name)
                        || isSecret(fields[index].value))
            if counts, countsCookie || !classes.contains(.cookies) { credentials.append(fields[index]) }
        }
    }

    // A short value holds no token.
    private static let shortestToken = 12
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

extension Request {
    /// Puts a collector into the request, to which every transport further in reports.
    ///
    /// Collectors of layers further out get the same reports.
    ///
    /// - Parameter clock: The clock that dates what is sent, for ``SentRequests/date``; nil if no date is needed.
    /// - Returns: The collector.
    public mutating func collectSent(datedBy clock: (any DatedClock)? = nil) -> SentRequests {
        let sent = SentRequests(for: self, datedBy: clock, isNeutral: NeutralFields.isNeutral)
        options.sentRequests = sent
        return sent
    }
}

/// The fields that tell the server nothing about the user.
enum NeutralFields {
    static let names = FieldNames(list)

    static let list = Set(
        [
            "Accept", "Accept-Encoding", "Cache-Control", "Connection", "Content-Length", "Date", "Expect",
            "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Keep-Alive",
            "Pragma", "Priority", "Range", "TE", "Trailer", "Transfer-Encoding", "User-Agent",
            "b3", "Idempotency-Key", "traceparent", "tracestate", "X-B3-Flags", "X-B3-ParentSpanId", "X-B3-Sampled",
            "X-B3-SpanId", "X-B3-TraceId", "X-Correlation-ID", "X-Request-ID",
        ].compactMap { HTTPField.Name($0) })

    /// Whether the name of a field is neutral with any value.
    static func contains(_ name: HTTPField.Name) -> Bool { names.contains(name) }

    /// Whether a field may differ between the request that was asked for and the one that was sent.
    ///
    /// `Proxy-Authorization` is for a proxy. A field that the request declares secret, or that holds a token, is not
    /// neutral.
    @Sendable static func isNeutral(_ field: HTTPField, secretFields: Set<HTTPField.Name>) -> Bool {
        field.name == .proxyAuthorization
            || names.contains(field.name) && !Redaction.standard.isSecret(field, secretFields: secretFields)
    }
}
