public import Decorum

extension Connection {
    /// Ends each request of a user when the user signs out, and the body of its response too.
    ///
    /// A reader who waits for a chunk gets ``SignedOutError`` at once, and one who does not gets it at the next chunk; the
    /// transfer stops in both cases. A body in memory has arrived already, and stays as it is.
    ///
    /// A request without a principal passes unchanged. Each other one, and each chunk, is awaited in a task of its own, which
    /// ends before its caller goes on. Place it inside of `acting(for:)`, and outside of all layers that wait, such as
    /// `retrying`. In a `StandardStack`, write `adding: [.ending(with: requests)]`.
    ///
    /// - Parameter requests: The list of the requests, which ``SigningOut`` signs out of.
    /// - Returns: A connection that throws ``SignedOutError`` too.
    public func ending(with requests: RequestsUnderWay) -> some Connection {
        EndingConnection(base: self, requests: requests)
    }
}

struct EndingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let requests: RequestsUnderWay

    var layer: Layer {
        Layer(name: "ending", role: .resilience, memory: .init(state: [Layer.StateIdentity(requests)]))
    }

    func send(_ request: consuming Request) async throws -> Response {
        guard let principal = request.options.principal else { return try await base.send(request) }
        let session = UserSession(principal, in: requests)
        let sent = copy request
        let work = Task { [base] in try await base.send(sent) }
        guard let entry = session.add({ work.cancel() }) else {
            work.cancel()
            _ = await work.result
            throw SignedOutError(.signedOut)
        }
        defer { withExtendedLifetime(entry) {} }
        var response: Response
        do {
            response = try await work.valueCancelledByCaller
        } catch let error as CancellationError {
            guard session.isOver, !Task.isCancelled else { throw error }
            throw SignedOutError(.signedOut)
        }
        guard !session.isOver else { throw SignedOutError(.signedOut) }
        if response.body.bytes == nil { response.body = try response.body.ending(with: session) }
        return response
    }
}

/// The time from a request of a user until the user signs out.
struct UserSession: Sendable {
    private let principal: Principal
    private let requests: RequestsUnderWay
    private let generation: Int

    init(_ principal: Principal, in requests: RequestsUnderWay) {
        self.principal = principal
        self.requests = requests
        generation = requests.generation(of: principal)
    }

    var isOver: Bool { requests.generation(of: principal) != generation }

    /// Has something ended at the end of the session; nil where that was before.
    func add(_ end: @escaping @Sendable () async -> Void) -> RequestsUnderWay.Entry? {
        requests.add(principal, since: generation, end: end)
    }
}

extension Task where Failure == any Error {
    /// The value; the task is cancelled when the caller is.
    var valueCancelledByCaller: Success {
        get async throws {
            try await withTaskCancellationHandler {
                try await value
            } onCancel: {
                cancel()
            }
        }
    }
}
