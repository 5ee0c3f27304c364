import Foundation

/// The place of a value in JSON, as in `items[1].name`; a key may be content, so that it is redacted.
struct ContentPath: Sendable, Equatable {
    /// The keys and numbers; empty for the top level.
    private let keys: String
    /// The name of the property, if a conversion of keys makes another one.
    private let name: String?

    private init(keys: String, name: String? = nil) {
        self.keys = keys
        self.name = name
    }

    /// The place that a decoder names, with the keys of the JSON, and the name of the property if it is another one.
    init(_ context: DecodingError.Context, in content: Data) {
        let path = JSONValue(at: context.codingPath, in: content).path
        let name = context.codingPath.last.flatMap { $0.intValue == nil ? $0.stringValue : nil }
        let isConverted = name != nil && path.last?.stringValue != name
        self.init(keys: ContentPath(path).keys, name: isConverted ? name : nil)
    }

    /// The place at a path of keys, or of a member of the object there.
    init(_ path: [any CodingKey], to member: String? = nil) {
        let object = path.reduce(ContentPath(keys: "")) { place, key in
            key.intValue.map { ContentPath(keys: place.keys + "[\($0)]") } ?? place.member(key.stringValue)
        }
        self = member.map(object.member) ?? object
    }

    /// The place of a member of the object at this place.
    func member(_ key: String) -> ContentPath {
        ContentPath(keys: keys.isEmpty ? key : "\(keys).\(key)")
    }

    /// The keys without secrets; nil for the top level.
    var text: String? { keys.isEmpty ? nil : Redaction.shownWords(keys) }
}

extension ContentPath: CustomStringConvertible {
    var description: String {
        (text ?? "the top level") + (name.map { " (“\(Redaction.shownWords($0))” in Swift)" } ?? "")
    }
}
