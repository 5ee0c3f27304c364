import HTTPTypes

/// The fields of a request by which a server gives another answer: those of a conditional request (RFC 9110, section 13.1), of
/// one for a range (section 14.2), and of an event stream that goes on after an event.
struct RequestConditions: Sendable {
    private static let names =
        [HTTPField.Name.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange] + ownNames
    /// The fields that a client sets by itself, and not from an earlier answer.
    private static let ownNames = [HTTPField.Name.range] + [HTTPField.Name("Last-Event-ID")].compactMap(\.self)

    private let fields: HTTPFields

    /// The conditions among the fields of a request; nil if there are none.
    init?(in fields: HTTPFields) {
        var conditions = HTTPFields()
        for field in fields where Self.names.contains(field.name) { conditions.append(field) }
        guard !conditions.isEmpty else { return nil }
        self.fields = conditions
    }

    /// The words for the first difference between two requests; nil if there is none.
    static func difference(from recorded: RequestConditions?, to live: RequestConditions?) -> String? {
        let (old, new) = (recorded?.fields ?? [:], live?.fields ?? [:])
        for name in names {
            switch (old[name], new[name]) {
            case (_?, nil): return "was recorded with `\(name.rawName)`, and has none now"
            case (nil, _?): return "was recorded without `\(name.rawName)`, and has it now"
            case (let old?, let new?) where old != new && ownNames.contains(name):
                return "has another value of `\(name.rawName)` than it was recorded with"
            default: continue
            }
        }
        return nil
    }
}
