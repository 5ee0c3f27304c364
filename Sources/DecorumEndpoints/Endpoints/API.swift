public import Foundation

/// All that the endpoints of one API have in common: its decoder, its limit, and its error type.
///
/// ```swift
/// let github = try SystemConnection()
///     .calling(API(decoder: decoder, problem: GitHubProblem.self), at: "https://api.github.com/v3")
/// ```
public struct API: Sendable {
    /// The decoder and the limit for all responses.
    public var settings: ReadingSettings
    /// The type of the API's own errors, as its responses of other statuses have them in JSON; nil for none.
    let problem: ProblemReading?

    /// Creates the description of an API whose errors have no type.
    ///
    /// - Parameters:
    ///   - decoder: The decoder for JSON.
    ///   - limit: The largest number of bytes of content to read into memory; by default, 16 MiB.
    public init(decoder: JSONDecoder = JSONDecoder(), limit: Int = 16 << 20) {
        settings = ReadingSettings(decoder: decoder, limit: limit)
        problem = nil
    }

    /// Creates the description of an API.
    ///
    /// - Parameters:
    ///   - decoder: The decoder for JSON.
    ///   - limit: The largest number of bytes of content to read into memory; by default, 16 MiB.
    ///   - problem: The type of the API's own errors, which are JSON.
    public init<Problem: Decodable & Sendable>(
        decoder: JSONDecoder = JSONDecoder(), limit: Int = 16 << 20, problem: Problem.Type
    ) {
        settings = ReadingSettings(decoder: decoder, limit: limit)
        self.problem = ProblemReading(problem)
    }

    /// An API with the standard decoder, a limit of 16 MiB, and no error type.
    public static let standard = API()
}

/// The type of an API's own errors.
struct ProblemReading: Sendable {
    let read: @Sendable (Data, JSONDecoder) -> (any Sendable)?

    init<Problem: Decodable & Sendable>(_ type: Problem.Type) {
        read = { data, decoder in try? decoder.decode(Problem.self, from: data) }
    }
}
