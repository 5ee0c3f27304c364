import HTTPTypes

extension RetryRule {
    /// Whether the rule is met.
    func isMet(by attempt: RetryAttempt) -> Bool { condition.isMet(by: attempt) }

    /// The statuses of the responses that can meet the rule; nil where a response with any status can.
    var statuses: Set<HTTPResponse.Status>? { condition.statuses }
}

extension RetryRule.Condition {
    func isMet(by attempt: RetryAttempt) -> Bool {
        switch self {
        case .status(let statuses): attempt.response.map { statuses.contains($0.status) } ?? false
        case .failure(let codes): (attempt.error as? TransportError).map { codes.contains($0.code) } ?? false
        case .field(let name, let value): attempt.response?.headerFields.holds(name, value) ?? false
        case .temporaryError: (attempt.error as? any TemporaryError)?.mayPass ?? false
        case .custom(let rule): rule.isMet(attempt)
        case .not(let condition): !condition.isMet(by: attempt)
        case .all(let conditions): conditions.allSatisfy { $0.isMet(by: attempt) }
        case .any(let conditions): conditions.contains { $0.isMet(by: attempt) }
        }
    }

    var statuses: Set<HTTPResponse.Status>? {
        switch self {
        case .status(let statuses): return statuses
        case .failure, .temporaryError: return []
        case .field, .custom, .not: return nil
        case .all(let conditions):
            let sets = conditions.compactMap(\.statuses)
            guard let first = sets.first else { return nil }
            return sets.dropFirst().reduce(first) { $0.intersection($1) }
        case .any(let conditions):
            let sets = conditions.compactMap(\.statuses)
            guard sets.count == conditions.count else { return nil }
            return sets.reduce(into: []) { $0.formUnion($1) }
        }
    }
}

extension HTTPFields {
    fileprivate func holds(_ name: String, _ value: String?) -> Bool {
        contains { $0.name.canonicalName == name && (value == nil || $0.value == value) }
    }
}

extension RetryRule: CustomStringConvertible {
    /// The rule as it is written, such as `.status(403) && .field("retry-after")`.
    public var description: String { condition.text }
}

extension RetryRule.Condition {
    fileprivate var text: String {
        switch self {
        case .status(let statuses): ".status(\(statuses.map(\.code).sorted().map(String.init).joined(separator: ", ")))"
        case .failure(let codes): ".failure(\(codes.map { ".\($0)" }.sorted().joined(separator: ", ")))"
        case .field(let name, nil): ".field(\(name.debugDescription))"
        case .field(let name, let value?): ".field(\(name.debugDescription), is: \(value.debugDescription))"
        case .temporaryError: ".temporaryError"
        case .custom(let rule): rule.name
        case .not(let condition): "!\(condition.operand)"
        case .all(let conditions): conditions.map(\.operand).joined(separator: " && ")
        case .any(let conditions): conditions.map(\.text).joined(separator: " || ")
        }
    }

    /// The text with parentheses, where operators would bind its parts to others.
    private var operand: String {
        switch self {
        case .any, .all: "(\(text))"
        default: text
        }
    }
}
