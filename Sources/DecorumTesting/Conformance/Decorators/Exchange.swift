import Decorum
import HTTPTypes

/// An exchange on a path whose answers come as those of a transport: in chunks, and to be read once.
struct Exchange: Sendable {
    let subject: DecoratorSubject
    let path: ActivePath
    let provoked: Provoked
    /// The answers to the caller's request, in order.
    let answers: [CarriedAnswer]

    init(
        _ subject: DecoratorSubject, on path: ActivePath, sending request: Request? = nil, knowingLength: Bool = false,
        chunks: Int, trailers: HTTPFields? = nil
    ) async throws {
        let carried = Monitor<[CarriedAnswer]>([])
        let request = try request ?? path.request()
        provoked = try await path.provoke(subject, with: request) { request, _, outcome in
            guard !subject.isOwnRequest(request.head) else { return try outcome.get() }
            let answer = try await outcome.get().carried(
                for: request.head.method, chunks: chunks, knowingLength: knowingLength, trailers: trailers)
            // Without its body, whose life is examined.
            var record = answer
            record.response.body = .empty
            carried.update { [record] in $0.append(record) }
            return answer.response
        }
        answers = carried.state
        self.subject = subject
        self.path = path
    }

    /// The contents of those answers that may have some.
    var contents: [BodyProbe] { answers.filter { $0.chunks > 0 }.map(\.content) }

    /// The response of the exchange; nil where the decorator throws by design.
    func response() async throws -> Response? {
        try await path.response(of: provoked, by: subject)
    }

    /// Whether a response has the content of one of the answers, and not what the decorator has kept or made.
    func comesFromBase(_ response: Response) -> Bool {
        !contents.isEmpty && path.calls == 1
            && response.head.mayHaveContent(for: path.request?.head.method ?? .get)
    }
}
