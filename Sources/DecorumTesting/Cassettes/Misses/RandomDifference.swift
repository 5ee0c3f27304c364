import Decorum
import DecorumArchive
import Foundation

/// A value of a request that looks as if a client made it anew for each run, where the recorded one has another value.
struct RandomDifference: Hashable {
    /// Whether the recorded value looks so too.
    let isRecorded: Bool
    /// The rule that ignores the value, as code; nil if the value has no simple name.
    let rule: String?
    /// The name of the rule that compares the value, if no rule ignores a part of what it compares, so that it can only be
    /// taken out; nil for the other rules.
    let removableRule: String?

    /// Finds such a value in two requests that do not agree by a rule, with its keys for them; nil if there is none.
    ///
    /// Where only the live value looks random, it counts if it has a name, in a request to the address of the recorded
    /// one: all else may be another request. The value of a field that names one request does not have to look random.
    init?(
        _ rule: MatchingRule, _ recorded: RecordedRequest, _ live: RecordedRequest, _ keys: ([UInt8], [UInt8]),
        masking scanner: SecretScanner
    ) {
        // In binary content, letters and digits stand beside each other by chance.
        let areTexts = [recorded, live].allSatisfy { String(validating: $0.body.bytes, as: UTF8.self) != nil }
        guard rule.subject != .body || areTexts else { return nil }
        isRecorded = RandomValue.differs(keys.0, keys.1)
        let name: String?
        switch rule.subject {
        case .body: name = Self.member(rule, recorded, live)
        case .url: name = rule.name == MatchingRule.url.name ? Self.queryItem(keys.0, keys.1) : nil
        case .method, .other: name = nil
        }
        let isHere = URLNearness.address(of: recorded.url) == URLNearness.address(of: live.url)
        if let name, isHere, Self.isSimple(name), scanner.masked(name) == name {
            self.rule = rule.subject == .body ? ".body(ignoring: \"**.\(name)\")" : ".url(ignoring: \"\(name)\")"
        } else {
            self.rule = nil
        }
        removableRule = rule.subject == .other ? rule.name : nil
        let isVolatile = rule.field.map(CassetteRules.volatileRequestFields.contains) ?? false
        guard isRecorded || self.rule != nil || isVolatile && isHere && !keys.1.isEmpty else { return nil }
    }

    /// Whether a name means itself in a rule and in code.
    private static func isSimple(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
    }

    /// The name of the first member of JSON whose live value looks random.
    private static func member(
        _ rule: MatchingRule, _ recorded: RecordedRequest, _ live: RecordedRequest
    ) -> String? {
        let values = [recorded, live].map { request in
            try? JSONValue(parsing: Array(BodyKey.json(request.body.bytes, ignoring: rule.ignoredPaths)))
        }
        guard let old = values[0], let new = values[1] else { return nil }
        return JSONDifference.all(old, new, limit: RequestLines.limit).lazy.compactMap(\.randomName).first
    }

    /// The name of the first item of a query whose live value looks random, in keys that are URLs.
    private static func queryItem(_ recorded: [UInt8], _ live: [UInt8]) -> String? {
        guard let start = live.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        for item in live[(start + 1)...].split(separator: UInt8(ascii: "&")) {
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            let value = Array(item.dropFirst(name.count + 1))
            if RandomValue.isNew(in: value, comparedWith: recorded) { return String(decoding: name, as: UTF8.self) }
        }
        return nil
    }
}

extension JSONDifference {
    /// The name of the member, if its live value looks random; nil otherwise.
    fileprivate var randomName: String? {
        guard let text = live?.scalarText, let step = lastStep, step.hasPrefix("."),
            RandomValue.isNew(in: Array(text.utf8), comparedWith: Array((recorded?.scalarText ?? "").utf8))
        else { return nil }
        return String(step.dropFirst())
    }
}

extension JSONValue {
    /// The text of a string or the digits of a number; nil for any other value.
    fileprivate var scalarText: String? {
        switch self {
        case .string(let text): text
        case .number(let digits): digits
        case .null, .bool, .array, .object: nil
        }
    }
}
