/// A value of a settings file, whatever its format.
enum SettingsValue: Sendable, Hashable {
    case null
    case flag(Bool)
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
        case .number(let number):
            if let whole = Int(exactly: number) { try container.encode(whole) } else { try container.encode(number) }
        case .text(let text): try container.encode(text)
        case .list(let list): try container.encode(list)
        case .members(let members): try container.encode(members)
        }
    }
}

extension SettingsValue {
    var asFlag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
    var asNumber: Double? { if case .number(let number) = self { number } else { nil } }
    var asText: String? { if case .text(let text) = self { text } else { nil } }
    var asList: [SettingsValue]? { if case .list(let list) = self { list } else { nil } }
    var asMembers: [String: SettingsValue]? { if case .members(let members) = self { members } else { nil } }
}

extension SettingsValue: CustomStringConvertible {
    var description: String {
        switch self {
        case .null: "null"
        case .flag(let flag): "\(flag)"
        case .number(let number): Int(exactly: number).map(String.init) ?? "\(number)"
        case .text(let text): "“\(text)”"
        case .list: "a list"
        case .members: "an object"
        }
    }
}
