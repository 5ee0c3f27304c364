public import HTTPTypes

/// A rule that says after which responses and errors a request is tried again.
///
/// Rules combine with `||`, `&&` and `!`:
///
/// ```swift
/// let limited: RetryRule = .field("Retry-After") || .field("X-RateLimit-Remaining", is: "0")
/// let patient = RetryPolicy(when: .standard || .status(403) && limited)
/// ```
///
/// A closure decides what no rule can say:
///
/// ```swift
/// let locked = RetryRule("locked") { $0.response?.status == 423 && $0.retries == 0 }
/// ```
///
/// A rule says only whether a failure may pass. It cannot make a request safe to send twice: see
/// ``RetryPolicy/methods``.
public struct RetryRule: Sendable, Hashable {
    let condition: Condition

    indirect enum Condition: Sendable, Hashable {
        case status(Set<HTTPResponse.Status>)
        case failure(Set<TransportError.Code>)
        case field(name: String, value: String?)
        case temporaryError
        case custom(CustomRule)
        case not(Condition)
        case all([Condition])
        case any([Condition])
    }

    private init(_ condition: Condition) {
        self.condition = condition
    }

    /// Creates a rule from a closure.
    ///
    /// - Parameters:
    ///   - name: A short name for the description of the layer.
    ///   - isMet: Returns whether to try again; it is called for each response, also for a successful one, and for each
    ///     error except a cancellation.
    public init(_ name: String, _ isMet: @escaping @Sendable (_ attempt: RetryAttempt) -> Bool) {
        condition = .custom(CustomRule(name: name, isMet: isMet))
    }

    /// The rule of ``RetryPolicy/standard``: the statuses 429, 500, 502, 503 and 504, and each ``TemporaryError`` that says
    /// that it may pass.
    public static let standard: RetryRule = .status(429, 500, 502, 503, 504) || .temporaryError

    /// An error that says of itself that it may pass: a ``TemporaryError`` of any layer.
    ///
    /// Of a ``TransportError``, these are a refused or lost connection, a host that is not found or not reached, and a
    /// timeout.
    public static let temporaryError = RetryRule(.temporaryError)

    /// A response with one of these statuses.
    ///
    /// - Parameter statuses: The statuses.
    /// - Returns: The rule.
    public static func status(_ statuses: HTTPResponse.Status...) -> RetryRule {
        RetryRule(.status(Set(statuses)))
    }

    /// A failure of the transport with one of these codes.
    ///
    /// - Parameter codes: The codes.
    /// - Returns: The rule.
    public static func failure(_ codes: TransportError.Code...) -> RetryRule {
        RetryRule(.failure(Set(codes)))
    }

    /// A response that has a field.
    ///
    /// - Parameters:
    ///   - name: The name of the field, in any letter case.
    ///   - value: The value that the field must have in one of its lines; nil for any value.
    /// - Returns: The rule.
    public static func field(_ name: String, is value: String? = nil) -> RetryRule {
        RetryRule(.field(name: name.lowercased(), value: value))
    }

    /// A rule that is met where one of two is.
    public static func || (left: RetryRule, right: RetryRule) -> RetryRule {
        RetryRule(.any(left.alternatives + right.alternatives))
    }

    /// A rule that is met where both are.
    public static func && (left: RetryRule, right: RetryRule) -> RetryRule {
        RetryRule(.all(left.demands + right.demands))
    }

    /// A rule that is met where another is not.
    public static prefix func ! (rule: RetryRule) -> RetryRule {
        RetryRule(.not(rule.condition))
    }

    private var alternatives: [Condition] {
        guard case .any(let conditions) = condition else { return [condition] }
        return conditions
    }

    private var demands: [Condition] {
        guard case .all(let conditions) = condition else { return [condition] }
        return conditions
    }
}

/// The outcome of one attempt, about which a ``RetryRule`` decides.
public struct RetryAttempt: Sendable {
    /// The head of the request.
    public let request: HTTPRequest
    /// The options of the request.
    public let options: RequestOptions
    /// The head of the response; nil after an error.
    public let response: HTTPResponse?
    /// The error; nil after a response.
    public let error: (any Error)?
    /// The number of retries of the layer so far.
    public let retries: Int

    init(request: HTTPRequest, options: RequestOptions, result: Result<HTTPResponse, any Error>, retries: Int) {
        self.request = request
        self.options = options
        self.retries = retries
        switch result {
        case .success(let head): (response, error) = (head, nil)
        case .failure(let failure): (response, error) = (nil, failure)
        }
    }

    /// Whether the server may still be working on the request, since only the client has ended the exchange.
    var mayBeWorking: Bool {
        guard let error = error as? TransportError, error.stage != .connecting else { return false }
        return error.isTimeout
    }
}

/// A closure, which is equal to itself alone.
final class CustomRule: Sendable, Hashable {
    let name: String
    let isMet: @Sendable (_ attempt: RetryAttempt) -> Bool

    init(name: String, isMet: @escaping @Sendable (_ attempt: RetryAttempt) -> Bool) {
        self.name = name
        self.isMet = isMet
    }

    static func == (left: CustomRule, right: CustomRule) -> Bool { left === right }

    func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

extension RetryRule: Codable {
    private enum CodingKeys: String, CodingKey { case statuses, temporaryErrors }

    /// Reads the numbers of `statuses`, and whether `temporaryErrors` meet the rule.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let codes = try values.decodeIfPresent(Set<Int>.self, forKey: .statuses) ?? []
        guard codes.allSatisfy((100..<1000).contains) else {
            throw DecodingError.dataCorruptedError(
                forKey: .statuses, in: values, debugDescription: "A status has three digits.")
        }
        let rule = RetryRule(.status(Set(codes.map { HTTPResponse.Status(code: $0) })))
        self = try values.decodeIfPresent(Bool.self, forKey: .temporaryErrors) == true ? rule || .temporaryError : rule
    }

    /// Writes the rule; throws `EncodingError` for a rule with a closure or an operator other than `||`.
    public func encode(to encoder: any Encoder) throws {
        var (codes, temporaryErrors): (Set<Int>, Bool) = ([], false)
        for condition in alternatives {
            switch condition {
            case .status(let statuses): codes.formUnion(statuses.map(\.code))
            case .temporaryError: temporaryErrors = true
            default:
                throw EncodingError.invalidValue(
                    description, .init(codingPath: encoder.codingPath, debugDescription: "The rule holds a closure."))
            }
        }
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(codes.sorted(), forKey: .statuses)
        try values.encode(temporaryErrors, forKey: .temporaryErrors)
    }
}
