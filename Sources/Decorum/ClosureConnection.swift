/// A connection that calls a closure: the base of a stack that is used once, or an adapter to another client.
///
/// ```swift
/// let connection = ClosureConnection { request in
///     Response(status: .ok, body: Body("You asked for \(request.head.path ?? "/")"))
/// }
/// ```
///
/// A closure that sends the request unchanged, or answers it, may call
/// ``Request/reportSending(showingClientCertificate:)``. If it does not, no layer shares or stores its responses for a
/// request without a ``RequestOptions/principal``.
public struct ClosureConnection: Connection {
    private let name: String
    private let branches: [Layer.Branch]?
    private let answer: @Sendable (consuming Request) async throws -> Response

    /// Creates a connection that answers with the response of a closure.
    ///
    /// - Parameters:
    ///   - name: The name of the layer in ``Connection/layers``.
    ///   - branches: The connections to which the closure sends, such as those that it chooses from; nil where they are not
    ///     known, so that the closure is unknown to the check of the stack (``Connection/findings``).
    ///   - answer: Answers a request.
    public init(
        named name: String = "ClosureConnection",
        choosingFrom branches: [Layer.Branch]? = nil,
        _ answer: @escaping @Sendable (consuming Request) async throws -> Response
    ) {
        self.name = name
        self.branches = branches
        self.answer = answer
    }

    /// One layer with the name that was given.
    public var layers: [Layer] {
        [Layer(name: name, role: .transport, sending: .init(branches: branches ?? []), isDeclared: branches != nil)]
    }

    /// Returns the response of the closure.
    public func send(_ request: consuming Request) async throws -> Response {
        try await answer(request)
    }
}
