public import HTTPTypes

extension Connection {
    /// Adds an `Idempotency-Key` to requests with methods that are not idempotent, so that they may be sent again.
    ///
    /// A server that knows the field carries out a request with one key once, and answers a repetition with the first
    /// answer. So `retrying` further in sends a `POST` with the key again, as it does a `GET`.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .retrying()
    ///     .addingIdempotencyKey()
    /// ```
    ///
    /// The key is a random UUID in quotation marks, as in `"8e03978e-40d5-43dd-bc93-6894a57f9324"`, or the
    /// ``RequestOptions/idempotencyKey`` of the request. Set the option where a user may repeat what a crash has
    /// interrupted, and keep its value. A request that has the field passes unchanged.
    ///
    /// Use it only for servers that know the field; for others, a repeated `POST` may take effect twice. Place it outside
    /// of retries, so that all attempts have one key. See the draft "The Idempotency-Key HTTP Header Field".
    ///
    /// - Parameters:
    ///   - methods: The methods of the requests that get a key.
    ///   - generator: The source of the random bits.
    /// - Returns: A connection that throws ``StructuredFieldError`` for a key of the request that is not printable ASCII.
    public func addingIdempotencyKey(
        to methods: Set<HTTPRequest.Method> = [.post, .patch],
        generator: any RandomGenerator = SystemGenerator()
    ) -> some Connection {
        IdempotencyKeyConnection(base: self, methods: methods, generator: generator)
    }
}

extension RequestOptions {
    /// The key that ``Connection/addingIdempotencyKey(to:generator:)`` sends; nil for a random one.
    public var idempotencyKey: String? {
        get { self[IdempotencyKey.self] }
        set { self[IdempotencyKey.self] = newValue }
    }
}

private enum IdempotencyKey: CallOptionKey { static let defaultValue: String? = nil }

struct IdempotencyKeyConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let methods: Set<HTTPRequest.Method>
    let generator: any RandomGenerator

    var layer: Layer {
        Layer(
            name: "addingIdempotencyKey", role: .preparation,
            settings: [.init("to", methods.map(\.rawValue).sorted().joined(separator: " "))],
            facts: [.changesSignedParts, .variesPerSend, .identifiesCalls, .makesIdempotent],
            sending: .init(methods: methods))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        if methods.contains(request.head.method), !request.head.headerFields.contains(.idempotencyKey) {
            let key = request.options.idempotencyKey ?? generator.uuidText()
            request.head.headerFields[.idempotencyKey] = try StructuredItem(.string(key)).serialized()
        }
        return try await base.send(request)
    }
}

extension HTTPField.Name {
    // A name without characters that a name cannot have.
    // swift-format-ignore: NeverForceUnwrap
    package static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
}
