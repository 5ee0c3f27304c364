public import Decorum
public import Foundation
import HTTPTypes

/// The way from a response to a value: which media types to ask for, how to read the content, and what to make of it.
///
/// ```swift
/// let reading = ResponseReading<[Item]>.json
///     .validated { items in if items.isEmpty { throw EmptyListError() } }
///     .map { items in items.map(\.name) }
/// ```
///
/// It runs on the global executor, whichever actor makes the call.
public struct ResponseReading<Value: Sendable>: Sendable {
    /// The value of `Accept` that goes with a request for such a response; nil for any media type.
    public var accept: String?
    private let perform: @Sendable (Response, ReadingSettings) async throws -> ReadValue<Value>

    init(
        accept: String?, perform: @escaping @Sendable (Response, ReadingSettings) async throws -> ReadValue<Value>
    ) {
        self.accept = accept
        self.perform = perform
    }

    /// Creates a reading.
    ///
    /// - Parameters:
    ///   - accept: The media types to ask for; nil for any.
    ///   - read: Makes the value, and reads the body under the limit of the settings, or one of its own.
    public init(
        accept: String? = nil,
        response read: @escaping @Sendable (Response, ReadingSettings) async throws -> Value
    ) {
        self.init(accept: accept) { response, settings in
            ReadValue(value: try await read(response, settings), content: nil)
        }
    }

    /// Reads a response, on the global executor.
    @concurrent func read(
        _ response: Response, _ settings: ReadingSettings = ReadingSettings()
    ) async throws -> ReadValue<Value> {
        try await perform(response, settings)
    }
}

extension ResponseReading {
    /// Makes another value of the value.
    ///
    /// - Parameter transform: Makes the other value, or throws.
    /// - Returns: A reading of the other value.
    public func map<Result: Sendable>(
        _ transform: @escaping @Sendable (Value) async throws -> Result
    ) -> ResponseReading<Result> {
        ResponseReading<Result>(accept: accept) { [perform] response, settings in
            let read = try await perform(response, settings)
            return ReadValue(value: try await transform(read.value), content: read.content)
        }
    }

    /// Checks or stores the value before the caller gets it.
    ///
    /// - Parameter check: Throws for a value that is not acceptable, or that it cannot store.
    /// - Returns: A reading of the same value.
    public func validated(_ check: @escaping @Sendable (Value) async throws -> Void) -> Self {
        map { value in
            try await check(value)
            return value
        }
    }

    /// Changes each body before it is read.
    func preparing(_ prepare: @escaping @Sendable (Body) -> Body) -> Self {
        Self(accept: accept) { [perform] response, settings in
            var response = response
            response.body = prepare(response.body)
            return try await perform(response, settings)
        }
    }
}

extension ResponseReading where Value: Decodable {
    /// Decodes JSON with the decoder of the API.
    public static var json: Self {
        Self(accept: "application/json") { response, settings in
            let data = try await response.data(upTo: settings.limit)
            let value = try response.decode(Value.self, from: data, using: settings.decoder)
            return ReadValue(value: value, content: data)
        }
    }
}

extension ResponseReading where Value == Data {
    /// Reads the content as it is.
    public static var data: Self {
        Self(accept: nil) { response, settings in
            let data = try await response.data(upTo: settings.limit)
            return ReadValue(value: data, content: data)
        }
    }
}

extension ResponseReading where Value == Void {
    /// Reads the content to its end and leaves it out, so that the connection can serve another request.
    public static var nothing: Self {
        Self { response, settings in try await response.bodyInTime.drain(upTo: settings.limit) }
    }
}

/// The decoder and the limit with which a response is read.
public struct ReadingSettings: Sendable {
    /// The decoder for JSON.
    public var decoder: JSONDecoder
    /// The largest number of bytes of content to read into memory; by default, 16 MiB.
    public var limit: Int

    init(decoder: JSONDecoder = JSONDecoder(), limit: Int = 16 << 20) {
        self.decoder = decoder
        self.limit = limit
    }
}

/// A value, and the content it was made from; nil if the content was not read into memory.
struct ReadValue<Value: Sendable>: Sendable {
    let value: Value
    let content: Data?
}

extension ResponseReading where Value == String {
    /// Reads text in its charset, as `text(upTo:repairing:)` of the response does.
    public static var text: Self {
        Self(accept: nil) { response, settings in
            var response = response
            let data = try await response.data(upTo: settings.limit)
            response.body = Body(data)
            return ReadValue(value: try await response.text(upTo: .max), content: data)
        }
    }
}

extension ResponseReading where Value == URL {
    /// Writes the content to a file, which appears only when it is complete; the value is its URL.
    ///
    /// - Parameters:
    ///   - file: The URL of the file, which is replaced if it exists.
    ///   - limit: The largest number of bytes to accept; the limit of the API is for content in memory.
    /// - Returns: The reading.
    public static func file(_ file: URL, upTo limit: Int64) -> Self {
        Self { response, _ in
            try await response.save(to: file, upTo: limit)
            return file
        }
    }

    /// Writes the content to a new file in a folder, under a safe form of the name that the server suggests; the value is
    /// its URL.
    ///
    /// - Parameters:
    ///   - folder: The URL of a folder that exists.
    ///   - limit: The largest number of bytes to accept; the limit of the API is for content in memory.
    /// - Returns: The reading.
    public static func file(in folder: URL, upTo limit: Int64) -> Self {
        Self { response, _ in try await response.save(in: folder, upTo: limit) }
    }
}

extension Response {
    /// The response as an error names it: the status, the URL without its query, the route name and the media type.
    ///
    /// It has no secret that `Redaction.standard` knows.
    var summary: String {
        let place = metadata.url.map { url in
            " of " + Redaction.described(String(url.absoluteString.prefix { $0 != "?" && $0 != "#" }))
        }
        let facts = [
            metadata.routeName.map { "route “\(Self.shown($0))”" },
            head.headerFields[.contentType].map(Self.shown),
        ].compactMap { $0 }
        let list = facts.isEmpty ? "" : " (\(facts.joined(separator: ", ")))"
        return "response \(status.code)\(place ?? "")\(list)"
    }

    /// Words of a server or a route name on one line, cut to 100 characters.
    static func shown(_ words: String) -> String {
        let line = words.unicodeScalars.map { scalar in
            [.control, .format].contains(scalar.properties.generalCategory) ? " " : String(scalar)
        }
        return String(Redaction.standard.applied(toText: line.joined()).prefix(100))
    }
}
