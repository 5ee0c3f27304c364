import HTTPTypes

/// The fields of a request by which a server gives another answer: those of a conditional request (RFC 9110, section 13.1), of
/// one for a range (section 14.2), and of an event stream that goes on after an event.
enum RequestConditions {
    private static let names =
        [HTTPField.Name.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange] + ownNames
    /// The fields that a client sets by itself, and not from an earlier answer.
    private static let ownNames = [HTTPField.Name.range] + [HTTPField.Name("Last-Event-ID")].compactMap(\.self)

    /// The words for the first difference between the conditions of two requests; nil if there is none.
    static func difference(from old: HTTPFields, to new: HTTPFields) -> String? {
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
