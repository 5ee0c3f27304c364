/// A value of a settings file, whatever its format.
enum SettingsValue: Sendable, Hashable {
    case null
    case flag(Bool)
    /// A whole number, which a `Double` would round where it is large.
    case whole(Int)
    case number(Double)
    case text(String)
    case list([SettingsValue])
    case members([String: SettingsValue])
}

extension SettingsValue: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let whole = try? container.decode(Int.self) {
            self = .whole(whole)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let list = try? container.decode([SettingsValue].self) {
            self = .list(list)
        } else {
            self = .members(try container.decode([String: SettingsValue].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .flag(let flag): try container.encode(flag)
        case .whole(let whole): try container.encode(whole)
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .list(let list): try container.encode(list)
        case .members(let members): try container.encode(members)
        }
    }
}

extension SettingsValue {
    var asFlag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
    var asWhole: Int? {
        switch self {
        case .whole(let whole): whole
        case .number(let number): Int(exactly: number)
        default: nil
        }
    }
    var asNumber: Double? {
        switch self {
        case .whole(let whole): Double(whole)
        case .number(let number): number
        default: nil
        }
    }
    var asText: String? { if case .text(let text) = self { text } else { nil } }
    var asList: [SettingsValue]? { if case .list(let list) = self { list } else { nil } }
    var asMembers: [String: SettingsValue]? { if case .members(let members) = self { members } else { nil } }
}

extension SettingsValue: CustomStringConvertible {
    /// The value, without the content of a text, which may be a secret that does not belong there.
    var description: String {
        switch self {
        case .null: "null"
        case .flag(let flag): "\(flag)"
        case .whole(let whole): "\(whole)"
        case .number(let number): "\(number)"
        case .text: "a text"
        case .list: "a list"
        case .members: "an object"
        }
    }
}

extension SettingsValue {
    /// The value in JSON, as an example.
    var example: String {
        switch self {
        case .text(let text): "\"\(text)\""
        case .list(let list): "[\(list.map(\.example).joined(separator: ", "))]"
        case .members(let members):
            "{\(members.sorted { $0.key < $1.key }.map { "\"\($0.key)\": \($0.value.example)" }.joined(separator: ", "))}"
        case .null, .flag, .whole, .number: description
        }
    }
}
