import Decorum

/// Where two JSON values differ, by paths such as `$.items[3].name`.
struct JSONDifference: Hashable {
    let path: String
    /// The recorded value; nil where there is none.
    let recorded: JSONValue?
    /// The live value; nil where there is none.
    let live: JSONValue?

    /// The differences in the order of the recorded value, at most `limit` of them.
    static func all(_ recorded: JSONValue, _ live: JSONValue, limit: Int) -> [JSONDifference] {
        var differences: [JSONDifference] = []
        collect(recorded, live, path: "$", limit: limit, &differences)
        return differences
    }

    private static func collect(
        _ recorded: JSONValue?, _ live: JSONValue?, path: String, limit: Int, _ differences: inout [JSONDifference]
    ) {
        guard recorded != live, differences.count < limit else { return }
        switch (recorded, live) {
        case (.object(let old), .object(let new)):
            let oldNames = old.map(\.name)
            for name in oldNames + new.map(\.name).filter({ !oldNames.contains($0) }) {
                collect(recorded?[name], live?[name], path: "\(path).\(name)", limit: limit, &differences)
            }
        case (.array(let old), .array(let new)):
            for index in 0..<max(old.count, new.count) {
                collect(
                    index < old.count ? old[index] : nil, index < new.count ? new[index] : nil,
                    path: "\(path)[\(index)]", limit: limit, &differences)
            }
        default: differences.append(JSONDifference(path: path, recorded: recorded, live: live))
        }
    }
}

extension JSONDifference: CustomStringConvertible {
    var description: String {
        "\(path)  \(recorded?.excerpt ?? "nothing")  →  \(live?.excerpt ?? "nothing")"
    }
}

extension JSONValue {
    /// The value in few characters.
    var excerpt: String {
        switch self {
        case .null: "null"
        case .bool(let bool): String(bool)
        case .number(let digits): String(digits.prefix(40))
        case .string(let text): text.count > 40 ? "\"\(text.prefix(40))…\"" : "\"\(text)\""
        case .array(let elements): "[\(elements.count) elements]"
        case .object(let members): "{\(members.count) members}"
        }
    }
}
