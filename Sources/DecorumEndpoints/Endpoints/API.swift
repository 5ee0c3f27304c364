public import Decorum
public import Foundation

/// All that the endpoints of one API have in common: its decoder, its encoder, its limit, and its error type.
///
/// ```swift
/// let github = try SystemConnection()
///     .calling(API(decoder: decoder, problem: GitHubProblem.self), at: "https://api.github.com/v3/")
/// ```
public struct API: Sendable {
    /// The decoder and the limit for all responses.
    public var settings: ReadingSettings
    /// The encoder of ``RequestContent/json(_:using:)`` and ``Sample/json(_:status:using:)`` without one of their own; nil
    /// for the standard one.
    public var encoder: JSONEncoder?
    /// The type of the API's own errors, as its responses of other statuses have them in JSON; nil for none.
    let problem: ProblemReading?
    /// The clock that dates the arrival of a refusal, from which its `Retry-After` counts.
    let clock: any DatedClock

    /// Creates the description of an API whose errors have no type.
    ///
    /// - Parameters:
    ///   - decoder: The decoder for JSON.
    ///   - encoder: The encoder for JSON; nil for the standard one.
    ///   - limit: The largest number of bytes of content to read into memory; by default, 16 MiB.
    ///   - clock: The clock that dates the arrival of a refusal, from which its `Retry-After` counts.
    public init(
        decoder: JSONDecoder = JSONDecoder(), encoder: JSONEncoder? = nil, limit: Int = 16 << 20,
        clock: any DatedClock = SystemClock()
    ) {
        settings = ReadingSettings(decoder: decoder, limit: limit)
        self.encoder = encoder
        problem = nil
        self.clock = clock
    }

    /// Creates the description of an API.
    ///
    /// - Parameters:
    ///   - decoder: The decoder for JSON.
    ///   - encoder: The encoder for JSON; nil for the standard one.
    ///   - limit: The largest number of bytes of content to read into memory; by default, 16 MiB.
    ///   - problem: The type of the API's own errors, which are JSON.
    ///   - clock: The clock that dates the arrival of a refusal, from which its `Retry-After` counts.
    public init<Problem: Decodable & Sendable>(
        decoder: JSONDecoder = JSONDecoder(), encoder: JSONEncoder? = nil, limit: Int = 16 << 20,
        problem: Problem.Type, clock: any DatedClock = SystemClock()
    ) {
        settings = ReadingSettings(decoder: decoder, limit: limit)
        self.encoder = encoder
        self.problem = ProblemReading(problem)
        self.clock = clock
    }

    /// An API with the standard decoder and encoder, a limit of 16 MiB, and no error type.
    public static let standard = API()
}

/// An API that many responses refer to, without a copy of it in each.
final class SharedAPI: Sendable {
    let api: API

    init(_ api: API) {
        self.api = api
    }

    static let standard = SharedAPI(.standard)
}

/// The type of an API's own errors.
struct ProblemReading: Sendable {
    let read: @Sendable (Data, JSONDecoder) -> (any Sendable)?

    init<Problem: Decodable & Sendable>(_ type: Problem.Type) {
        read = { data, decoder in try? decoder.decode(Problem.self, from: data) }
    }
}
