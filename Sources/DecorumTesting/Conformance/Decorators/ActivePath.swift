public import Decorum
public import HTTPTypes

extension DecoratorLaw {
    /// A part of an exchange that a decorator changes by design.
    public enum Part: Sendable, Hashable {
        /// The method of a request.
        case method
        /// The scheme, the authority or the path of a request.
        case target
        /// The bytes of a request's content.
        case requestContent
        /// The bytes of a response's content.
        case responseContent
    }

    /// A request and the answers of a base that give a decorator something to do.
    ///
    /// ```swift
    /// let expired = DecoratorLaw.ActivePath("an expired token") { request, number in
    ///     if request.path == "/token" { return Response(status: .ok, body: "new") }
    ///     return Response(status: number == 1 ? .unauthorized : .ok)
    /// }
    /// ```
    ///
    /// A law adds options, fields and content to the request. It adds trailer fields to the answer, and gives it a body that
    /// can be read once and that comes chunk by chunk, late, or never. An answer keeps its status, its fields and its
    /// content. An answer that may have content but has none gets some.
    public struct ActivePath: Sendable, CustomStringConvertible {
        /// The path in a few words, for the sentence of a failure.
        public let description: String
        let request: Request?
        let calls: Int
        let addedFields: Set<HTTPField.Name>
        let changedParts: Set<Part>
        let answer: @Sendable (HTTPRequest, Int) throws -> Response
        /// Whether the laws created the path, and examine every decorator on it.
        private(set) var isOfLaws = false

        /// Creates a path.
        ///
        /// - Parameters:
        ///   - description: The path in a few words, such as “compressed content”.
        ///   - request: The request that the decorator acts on, with content in memory or none; nil for a `GET` to
        ///     ``DecoratorLaw/origin``. Laws about the content of requests make a `PUT` of one without content.
        ///   - calls: How many times the request is sent to one decorator; the laws examine the last time. A decorator
        ///     that answers with what it has kept needs two.
        ///   - addedFields: The fields of requests that the decorator adds, changes or removes by design on this path.
        ///   - changedParts: The other parts that it changes by design on this path.
        ///   - answer: Answers, or throws the failure of, the request of a number, which counts from 1 for each decorator.
        public init(
            _ description: String,
            sending request: Request? = nil,
            times calls: Int = 1,
            adding addedFields: Set<HTTPField.Name> = [],
            changing changedParts: Set<Part> = [],
            answering answer: @escaping @Sendable (_ request: HTTPRequest, _ number: Int) throws -> Response
        ) {
            self.description = description
            self.request = request
            self.calls = max(1, calls)
            self.addedFields = addedFields
            self.changedParts = changedParts
            self.answer = answer
        }

        /// Creates a path that the laws examine every decorator on.
        init(
            ofLaws description: String, calls: Int = 1,
            _ answer: @escaping @Sendable (_ number: Int, _ request: HTTPRequest) throws -> HTTPResponse
        ) {
            self.init(description, times: calls) { request, number in Response(head: try answer(number, request)) }
            isOfLaws = true
        }
    }
}

typealias ActivePath = DecoratorLaw.ActivePath

extension ActivePath {
    /// The content of the request, or a pattern where it has none.
    var requestContent: BodyProbe.Content {
        request?.body.bytes.flatMap { $0.isEmpty ? nil : .bytes($0) } ?? .pattern
    }

    /// The request of the path, with the fields and the content that a law puts into it.
    ///
    /// The method stands in where the path names no request, and where content is put into one that has none.
    func request(
        _ method: HTTPRequest.Method = .get, fields: HTTPFields = [:], body: Body? = nil
    ) throws -> Request {
        var request = try request ?? .lawful(method)
        if let body {
            if request.body.isEmpty, !body.isEmpty, request.head.method.mostlyHasNoContent {
                request.head.method = method
            }
            request.body = body
        }
        for field in fields { request.head.headerFields.append(field) }
        return request
    }
}

extension HTTPRequest.Method {
    /// Whether content has no meaning with the method (RFC 9110, section 9.3).
    fileprivate var mostlyHasNoContent: Bool { self == .get || self == .head || self == .options }
}
