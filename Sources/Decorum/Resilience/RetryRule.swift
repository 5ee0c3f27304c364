import Foundation
public import HTTPTypes

/// A rule that says after which responses and errors a request is tried again.
///
/// Rules combine with `||`. A closure decides what no other rule can say:
///
/// ```swift
/// let limited = RetryRule("limited") { attempt in
///     attempt.response?.status == .forbidden && attempt.response?.headerFields.contains(.retryAfter) == true
/// }
/// let patient = RetryPolicy(when: .standard || limited)
/// ```
///
/// A rule says only whether a failure may pass. It cannot make a request safe to send twice: see
/// ``RetryPolicy/methods``. A rule without a closure is `Codable`, as ``RetryPolicy`` is.
public struct RetryRule: Sendable, Hashable {
    /// The statuses of the responses that meet the rule, beside its closures.
    private var statuses: Set<HTTPResponse.Status>
    private var includesTemporaryErrors: Bool
    private var closures: [Closure]
    /// The lowest code of a status that can meet the rule: most responses have a lower one, which needs no search.
    private var lowestCode: Int

    private init(_ statuses: Set<HTTPResponse.Status>, temporaryErrors: Bool = false, _ closures: [Closure] = []) {
        self.statuses = statuses
        includesTemporaryErrors = temporaryErrors
        self.closures = closures
        lowestCode = closures.isEmpty ? statuses.map(\.code).min() ?? .max : 0
    }

    /// Creates a rule from a closure.
    ///
    /// - Parameters:
    ///   - name: A short name for the description of the layer.
    ///   - isMet: Returns whether to try again; it is called for each response, also for a successful one, and for each
    ///     error except a cancellation.
    public init(_ name: String, _ isMet: @escaping @Sendable (_ attempt: RetryAttempt) -> Bool) {
        self.init([], [Closure(name, isMet)])
    }

    /// The rule of ``RetryPolicy/standard``: the statuses 429, 500, 502, 503 and 504, and each ``TemporaryError`` that says
    /// that it may pass.
    public static let standard: RetryRule = .status(429, 500, 502, 503, 504) || .temporaryError

    /// An error that says of itself that it may pass: a ``TemporaryError`` of any layer.
    ///
    /// Of a ``TransportError``, these are a refused or lost connection, a host that is not found or not reached, and a
    /// timeout.
    public static let temporaryError = RetryRule([], temporaryErrors: true)

    /// A response with one of these statuses.
    ///
    /// - Parameter statuses: The statuses.
    /// - Returns: The rule.
    public static func status(_ statuses: HTTPResponse.Status...) -> RetryRule { RetryRule(Set(statuses)) }

    /// A rule that is met if one of two rules is met.
    public static func || (left: RetryRule, right: RetryRule) -> RetryRule {
        RetryRule(
            left.statuses.union(right.statuses),
            temporaryErrors: left.includesTemporaryErrors || right.includesTemporaryErrors,
            left.closures + right.closures)
    }

    func isMet(by attempt: RetryAttempt) -> Bool {
        attempt.response.map { statuses.contains($0.status) } ?? false
            || includesTemporaryErrors && (attempt.error as? any TemporaryError)?.mayPass == true
            || closures.contains { $0.isMet(attempt) }
    }

    /// Whether the status of a response alone shows that it does not meet the rule.
    func isUnmet(byStatusOf response: borrowing HTTPResponse) -> Bool {
        response.code < lowestCode || closures.isEmpty && !statuses.contains(response.status)
    }

    /// A closure, which is equal to itself alone.
    private final class Closure: Sendable, Hashable {
        let name: String
        let isMet: @Sendable (_ attempt: RetryAttempt) -> Bool

        init(_ name: String, _ isMet: @escaping @Sendable (_ attempt: RetryAttempt) -> Bool) {
            self.name = name
            self.isMet = isMet
        }

        static func == (left: Closure, right: Closure) -> Bool { left === right }

        func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(self))
        }
    }
}

extension RetryRule: CustomStringConvertible {
    /// The parts of the rule, such as `.status(403) || .temporaryError`.
    public var description: String {
        let codes = statuses.map(\.code).sorted().map(String.init).joined(separator: ", ")
        let parts = (codes.isEmpty ? [] : [".status(\(codes))"]) + (includesTemporaryErrors ? [".temporaryError"] : [])
        return (parts + closures.map(\.name)).joined(separator: " || ")
    }
}

extension RetryRule: Codable {
    private enum CodingKeys: String, CodingKey {
        case statuses, temporaryErrors
    }

    /// Reads the numbers of `statuses`, and whether `temporaryErrors` meet the rule; without a key, nothing of its kind does.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let codes = try values.decodeIfPresent(Set<Int>.self, forKey: .statuses) ?? []
        guard codes.allSatisfy((100..<1000).contains) else {
            throw DecodingError.dataCorruptedError(
                forKey: .statuses, in: values, debugDescription: "A status has three digits.")
        }
        self.init(
            Set(codes.map { HTTPResponse.Status(code: $0) }),
            temporaryErrors: try values.decodeIfPresent(Bool.self, forKey: .temporaryErrors) ?? false)
    }

    /// Writes the rule; throws `EncodingError` for a rule with a closure.
    public func encode(to encoder: any Encoder) throws {
        guard closures.isEmpty else {
            throw EncodingError.invalidValue(
                description, .init(codingPath: encoder.codingPath, debugDescription: "The rule holds a closure."))
        }
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(statuses.map(\.code).sorted(), forKey: .statuses)
        try values.encode(includesTemporaryErrors, forKey: .temporaryErrors)
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

    /// The outcome in a few words, as in "503 with Retry-After 2".
    var words: String {
        guard let response else { return error.map(Redaction.name(of:)) ?? "" }
        guard let asked = response.headerFields.firstValue(of: .retryAfter) else {
            let limit = RateLimitFields.usedLimit(in: response.headerFields, at: .distantPast)
            return "\(response.status.code)\(limit == nil ? "" : " with a used rate limit")"
        }
        // Any other text than a number may be as long as the server likes.
        let isShort = asked.utf8.count < 10 && asked.utf8.allSatisfy { (0x30...0x39).contains($0) }
        return "\(response.status.code) with Retry-After\(isShort ? " \(asked)" : "")"
    }
}
