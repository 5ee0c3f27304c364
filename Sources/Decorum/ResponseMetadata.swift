public import Foundation
public import HTTPTypes

/// A key for a fact about a response that layers hand outwards.
///
/// It is declared like a ``RequestOptionKey``, with an extension of ``ResponseMetadata`` that gives it a name.
public protocol ResponseMetadataKey: SendableMetatype {
    /// The type of the fact.
    associatedtype Value: Sendable
    /// What a response has that no layer gave the fact.
    static var defaultValue: Value { get }
}

/// What the layers tell about a response beside what the server said.
public struct ResponseMetadata: Sendable {
    private var values = TypedValues()
    // Parsed where it is asked for, which takes longer than all else that a transport tells.
    var urlText: String?

    /// Creates metadata that is all at its defaults.
    public init() {}

    /// Creates the metadata of a response to a request, as a transport or another double of a server gives it.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent; ``url`` is its URL with its fragment, which is parsed when it is read.
    ///   - source: Where the response comes from.
    public init(answering request: borrowing Request, from source: Source) {
        urlText = request.urlText
        self.source = source
    }

    /// The fact of a key.
    public subscript<Key: ResponseMetadataKey>(_ key: Key.Type) -> Key.Value {
        get { values.value(for: key, as: Key.Value.self) ?? Key.defaultValue }
        set { values.set(newValue, for: key) }
    }
}

extension ResponseMetadata {
    /// Where a response came from, as an open set.
    public struct Source: Sendable, Hashable, CustomStringConvertible {
        /// The name of the source.
        public let description: String

        /// Creates a source of your own.
        ///
        /// - Parameter description: The name of the source.
        public init(_ description: String) {
            self.description = description
        }

        /// A server, over the network.
        public static let network = Source("network")
        /// A stored response that was still fresh.
        public static let cache = Source("cache")
        /// A stored response that the server confirmed.
        public static let revalidated = Source("revalidated")
        /// A recording.
        public static let cassette = Source("cassette")
        /// A test's own answer.
        public static let stub = Source("stub")
    }

    /// Where the response came from; nil where the connection that answered did not say.
    public var source: Source? {
        get { self[SourceKey.self] }
        set { self[SourceKey.self] = newValue }
    }

    /// How many times a request was sent to get this response, over all retries and redirections.
    public var attempts: Int {
        get { self[AttemptsKey.self] }
        set { self[AttemptsKey.self] = newValue }
    }

    /// The informational responses (1xx) that came before this one, such as 103 Early Hints.
    public var informational: [HTTPResponse] {
        get { self[InformationalKey.self] }
        set { self[InformationalKey.self] = newValue }
    }

    /// The content codings that the transport has undone, outermost first, as in `["gzip"]`.
    ///
    /// The head then has neither `Content-Encoding` nor the `Content-Length` of the coded content.
    public var decodedContentCodings: [String] {
        get { self[DecodedContentCodingsKey.self] }
        set { self[DecodedContentCodingsKey.self] = newValue }
    }

    /// The URL that answered, after redirections, with the fragment that the client is left with.
    public var url: URL? {
        get { self[URLKey.self] ?? urlText.flatMap { URL(string: $0) } }
        set {
            self[URLKey.self] = newValue
            urlText = nil
        }
    }
}

extension ResponseMetadata {
    /// The names of the keys that have a value.
    var keyNames: [String] { values.keyNames }
}

private enum SourceKey: ResponseMetadataKey {
    static let defaultValue: ResponseMetadata.Source? = nil
}

private enum AttemptsKey: ResponseMetadataKey {
    static let defaultValue = 1
}

private enum InformationalKey: ResponseMetadataKey {
    static let defaultValue: [HTTPResponse] = []
}

private enum DecodedContentCodingsKey: ResponseMetadataKey {
    static let defaultValue: [String] = []
}

private enum URLKey: ResponseMetadataKey {
    static let defaultValue: URL? = nil
}
