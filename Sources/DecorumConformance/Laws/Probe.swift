import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization

/// The base that a law puts under a decorator: it counts the requests, and answers each as the law says.
final class Probe: Connection {
    typealias Answer = @Sendable (_ request: Request, _ number: Int) async throws -> Response

    private let received = Mutex<[Request]>([])
    private let answer: Answer

    init(_ answer: @escaping Answer) {
        self.answer = answer
    }

    let layers = [Layer(name: "outer probe", role: .other), Layer(name: "probe", role: .transport)]

    var requests: [Request] { received.withLock { $0 } }

    /// Answers in a cancelled task too, since a law examines which requests arrive after a cancellation.
    func send(_ request: consuming Request) async throws -> Response {
        let request = request
        request.reportSending()
        let number = received.withLock { received in
            received.append(request)
            return received.count
        }
        return try await answer(request, number)
    }
}

extension ActivePath {
    typealias Outcome = Result<Response, any Error>
    /// Answers a request of the last call, by its number within this call and what the path answers.
    typealias Answering = @Sendable (_ request: Request, _ number: Int, _ outcome: Outcome) async throws -> Response

    /// Sends a request through a decorator along the path; the law answers the last call, and the path those before it.
    ///
    /// The path answers the requests that the decorator makes itself, unless the law includes them.
    func provoke(
        _ subject: DecoratorSubject, with request: Request? = nil, on conditions: DecoratorConditions = .init(),
        includingOwn includesOwn: Bool = false,
        _ answering: @escaping Answering = { _, _, outcome in try outcome.get() }
    ) async throws -> Provoked {
        let request = try request ?? self.request()
        let primed = Monitor(0)
        let primingCount = Monitor(0)
        let probe = Probe { [self] request, number in
            let outcome = Outcome { try answer(request.head, number) }
            guard primed.state == calls - 1 else {
                primingCount.update { $0 = number }
                var response = try outcome.get()
                if response.lacksContent(for: request.head.method) { response.body = Body(Response.primedText) }
                return response
            }
            guard includesOwn || !subject.isOwnRequest(request.head) else { return try outcome.get() }
            return try await answering(request, number - primingCount.state, outcome)
        }
        let connection = try subject.connection(over: probe, on: conditions)
        while primed.state < calls - 1 {
            _ = try? await connection.send(request).body.collectAll()
            primed.update { $0 += 1 }
        }
        let result: Outcome
        do {
            result = .success(try await connection.send(request))
        } catch {
            result = .failure(error)
        }
        let sent = Array(probe.requests.dropFirst(primingCount.state))
        return Provoked(
            sent: sent, requests: sent.filter { !subject.isOwnRequest($0.head) }, result: result,
            own: try subject.ownLayers(over: probe), connection: connection)
    }

    /// Sends a request through a decorator, and examines each sent request; returns how many there were.
    func sendings(
        of subject: DecoratorSubject, with request: Request, includingOwn includesOwn: Bool = false,
        examining examine: @escaping @Sendable (Request) async throws -> Void
    ) async throws -> Int {
        let (failure, count) = (Monitor<(any Error)?>(nil), Monitor(0))
        _ = try await provoke(subject, with: request, includingOwn: includesOwn) { request, _, outcome in
            _ = count.increment()
            do {
                try await examine(request)
            } catch {
                failure.update { $0 = $0 ?? error }
            }
            return try outcome.get()
        }
        guard let failure = failure.state else { return count.state }
        throw failure as? ConformanceFailure
            ?? ConformanceFailure("The content could not be read: \(failure)", underlying: failure)
    }

    /// The response that a path leads to; nil if the decorator throws by design, as it does with bodies in memory too.
    func response(of provoked: consuming Provoked, by subject: DecoratorSubject) async throws -> Response? {
        switch provoked.result {
        case .success(let response):
            return response
        case .failure(let error):
            guard !isOfLaws, case .failure = try await provokeInMemory(subject).result else { throw error }
            return nil
        }
    }

    /// Sends a request through a decorator along the path, with the path's own answers in memory.
    func provokeInMemory(_ subject: DecoratorSubject) async throws -> Provoked {
        try await provoke(subject, includingOwn: true) { request, _, outcome in
            var answer = try await outcome.get().carried(for: request.head.method, chunks: 5)
            answer.response.body = Body(answer.content.data(chunks: answer.chunks))
            return answer.response
        }
    }
}

/// The outcome of an exchange that a law has put a decorator through.
struct Provoked: Sendable {
    /// All requests of the last call, including the ones of the decorator itself.
    let sent: [Request]
    /// The requests of the caller that the last call has sent.
    let requests: [Request]
    let result: Result<Response, any Error>
    /// The layers that the decorator is made of.
    let own: [Layer]
    /// The decorator, which outlives its calls.
    let connection: any Connection

    /// The error that the decorator threw; nil if it has returned.
    var error: (any Error)? { if case .failure(let error) = result { error } else { nil } }

    /// Whether the decorator says that it may answer in the base's place.
    var mayAnswer: Bool { own.facts.contains(.answers) }
}

/// An exchange on a path whose answers come as a transport gives them: in chunks, and to be read once.
struct Exchange: Sendable {
    let provoked: Provoked
    /// The contents of the answers to the caller's request, in order, each with the number of its chunks.
    let contents: [(content: BodyProbe, chunks: Int)]

    init(
        _ subject: DecoratorSubject, on path: ActivePath, knowingLength: Bool = false, chunks: Int,
        trailers: HTTPFields? = nil
    ) async throws {
        let carried = Monitor<[(content: BodyProbe, chunks: Int)]>([])
        provoked = try await path.provoke(subject) { request, _, outcome in
            let answer = try await outcome.get().carried(
                for: request.head.method, chunks: chunks, knowingLength: knowingLength, trailers: trailers)
            carried.update { $0.append((answer.content, answer.chunks)) }
            return answer.response
        }
        contents = carried.state
    }
}

/// An answer whose content records how it is read.
struct CarriedAnswer: Sendable {
    var response: Response
    /// The content; empty if the answer has none.
    let content: BodyProbe
    let chunks: Int
}

extension Response {
    /// The content of the answers to the calls before the last one of a path.
    static let primedText = "primed"

    /// Whether the response may have content, and has none.
    func lacksContent(for method: HTTPRequest.Method) -> Bool {
        body.isEmpty && head.mayHaveContent(for: method)
    }

    /// The response with a body that can be read once: its content, or a pattern if it may have content but has none.
    func carried(
        for method: HTTPRequest.Method, chunks: Int, knowingLength: Bool = false, trailers: HTTPFields? = nil,
        failure: (any Error)? = nil, gate: Gate? = nil
    ) async throws -> CarriedAnswer {
        var response = self
        guard head.mayHaveContent(for: method) else {
            return CarriedAnswer(response: response, content: BodyProbe(Data()), chunks: 0)
        }
        let data = try await body.collectAll().data
        let content = BodyProbe(data.isEmpty ? nil : data)
        response.body = content.body(
            chunks: chunks, knowingLength: knowingLength, trailers: trailers, failure: failure, gate: gate)
        return CarriedAnswer(response: response, content: content, chunks: chunks)
    }
}

extension HTTPResponse {
    /// Whether there may be content behind the head (RFC 9110, section 6.4.1).
    func mayHaveContent(for method: HTTPRequest.Method) -> Bool {
        method != .head && status.kind != .informational && status != .noContent && status != .notModified
    }
}

/// A call in a separate task, which a law waits for and cancels.
struct CallInProgress<Value: Sendable>: Sendable {
    private let task: Task<Value, any Error>
    private let end = Gate()

    init(_ call: @escaping @Sendable () async throws -> Value) {
        task = Task { [end] in
            defer { end.open() }
            return try await call()
        }
    }

    /// Waits until something waits at a gate, or the call has ended; returns whether the gate was reached.
    func waits(at gate: Gate) async throws -> Bool {
        try await first { try await gate.waitForWaiting(1) }
    }

    /// Waits until the call sleeps on a clock and has had time to go on, as beside a timer; returns whether it seems to sleep.
    func sleeps(on clock: VirtualClock) async throws -> Bool {
        guard try await first({ try await clock.waitForSleepers() }) else { return false }
        for _ in 0..<10 { await Task.yield() }
        return !end.isOpen && !clock.pendingSleeps.isEmpty
    }

    /// Cancels the call, and waits for its end.
    func cancelled(file: String = #fileID, line: Int = #line) async throws -> Result<Value, any Error> {
        task.cancel()
        return try await withDeadline(file: file, line: line) { [task] in await task.result }
    }

    /// Waits for the end.
    func value() async throws -> Value {
        try await withDeadline(of: .seconds(20)) { [task] in try await task.value }
    }

    private func first(_ event: @escaping @Sendable () async throws -> Void) async throws -> Bool {
        try await withDeadline(of: .seconds(20)) { [end] in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    try await event()
                    return true
                }
                group.addTask {
                    try await end.wait()
                    return false
                }
                defer { group.cancelAll() }
                return try await group.next() ?? false
            }
        }
    }
}
