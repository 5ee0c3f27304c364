public import Decorum
public import Foundation

/// The content of a request as an endpoint states it, which becomes a body where the request is made.
///
/// An encoder that fails, or a file that is missing, is an error of the call, so that an endpoint can be made without `try`.
public struct RequestContent: Sendable {
    private let make: (@Sendable (JSONEncoder?) throws -> Body)?
    /// Whether the encoder of the API makes the body.
    let takesEncoder: Bool

    /// Creates content from a closure, which makes a body once for each request.
    public init(_ make: @escaping @Sendable () throws -> Body) {
        self.init(takingEncoder: false) { _ in try make() }
    }

    private init(takingEncoder takesEncoder: Bool, _ make: (@Sendable (JSONEncoder?) throws -> Body)?) {
        self.make = make
        self.takesEncoder = takesEncoder
    }

    /// The content with a change of each body, which is encoded as before.
    func changingBody(_ change: @escaping @Sendable (Body) -> Body) -> RequestContent {
        RequestContent(takingEncoder: takesEncoder) { [self] encoder in change(try body(using: encoder)) }
    }

    /// No content.
    public static let empty = RequestContent(takingEncoder: false, nil)

    /// Makes the body of one request with the encoder of the API; nil stands for the standard one.
    func body(using encoder: JSONEncoder? = nil) throws -> Body {
        try make?(encoder) ?? .empty
    }

    /// A body, which can be sent as often as its `Body.replay` says.
    public static func body(_ body: Body) -> RequestContent {
        RequestContent { body }
    }

    /// A value as JSON, with the media type `application/json`.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: The encoder; nil for that of the ``API`` of the endpoint or of the connection, or else the standard one.
    /// - Returns: The content.
    public static func json(_ value: some Encodable & Sendable, using encoder: JSONEncoder? = nil) -> RequestContent {
        RequestContent(takingEncoder: encoder == nil) { try Body(json: value, using: encoder ?? $0 ?? JSONEncoder()) }
    }

    /// Text in UTF-8, with the media type `text/plain; charset=utf-8`.
    public static func text(_ text: String) -> RequestContent {
        RequestContent { Body(text) }
    }

    /// A regular file, which is read while it is sent, with the media type of its name's extension.
    public static func file(_ file: URL) -> RequestContent {
        RequestContent { try Body(contentsOf: file) }
    }
}

extension Body {
    /// Creates a body from the fields of a form, with the media type `application/x-www-form-urlencoded`.
    public init(form query: Query) {
        var bytes: [UInt8] = []
        query.append(to: &bytes)
        self = Body(Data(bytes)).typed(as: "application/x-www-form-urlencoded")
    }
}

extension RequestContent {
    /// The fields of a form, with the media type `application/x-www-form-urlencoded`.
    public static func form(_ query: Query) -> RequestContent {
        RequestContent { Body(form: query) }
    }

    /// The members of a value as the fields of a form, in the order in which the value encodes them.
    ///
    /// - Parameters:
    ///   - value: An object, such as a struct or a dictionary with keys that are strings.
    ///   - nesting: The names of values inside of other values.
    ///   - date: Makes the text of a date; by default, that of ISO 8601 in UTC.
    /// - Returns: The content, with the errors of ``Query/init(encoding:nesting:date:)``.
    public static func form(
        encoding value: some Encodable & Sendable, nesting: NestingStyle = .bracketed,
        date: @escaping @Sendable (Date) -> String = { $0.formatted(.iso8601) }
    ) -> RequestContent {
        RequestContent { Body(form: try Query(encoding: value, nesting: nesting, date: date)) }
    }
}
