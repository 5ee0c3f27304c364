public import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Checks of requests that meet the end of a pooled connection, over a transport that tells of it, with retries around it.
public struct DeadConnectionChecks: Sendable {
    /// A check, and what it demands.
    public enum Check: String, CaseIterable, Sendable {
        case safeRequests, unsafeRequests, newConnections, partialResponses, manyAtOnce
    }

    /// Runs a check over a transport.
    public static func run(_ check: Check, over transport: any Connection) async throws {
        let checks = try DeadConnectionChecks(of: transport)
        switch check {
        case .safeRequests: try await checks.checkSafeRequests()
        case .unsafeRequests: try await checks.checkUnsafeRequests()
        case .newConnections: try await checks.checkNewConnections()
        case .partialResponses: try await checks.checkPartialResponses()
        case .manyAtOnce: try await checks.checkManyAtOnce()
        }
    }

    private let transport: any Connection
    private let origin: LoopbackOrigin

    private init(of transport: any Connection) throws {
        self.transport = transport
        origin = try LoopbackOrigin()
    }

    /// A call without retries of a budget, so that it is sent again only where that costs none.
    private func call(
        _ method: HTTPRequest.Method, over connection: any Connection
    ) async throws -> (result: Result<Response, any Error>, history: [String]) {
        let context = CallContext(keepingHistory: 10)
        var request = try Request(method, origin.url + "/", body: method == .post ? "content" : .empty)
        request.options.callContext = context
        let result: Result<Response, any Error>
        do {
            result = .success(try await connection.send(request))
        } catch {
            result = .failure(error)
        }
        return (result, context.history.filter { $0.layer == "retrying" }.map(\.words))
    }

    private var withoutBudget: any Connection { transport.retrying(RetryPolicy(budget: .perCall(0))) }

    private func warmUp() async throws {
        origin.enqueue("warm")
        try await transport.send(.get(origin.url + "/")).body.drain(upTo: 100)
        origin.forgetRequests()
    }

    /// A safe request is sent again once, at once, and without the budget.
    private func checkSafeRequests() async throws {
        for (answer, method) in [
            (LoopbackOrigin.Answer.closing, HTTPRequest.Method.get), (.resetting, .get), (.closing, .post),
        ] {
            try await warmUp()
            origin.enqueue(answer, "second")

            let (result, history) = try await call(method, over: withoutBudget.addingIdempotencyKey())

            let response = try result.get()
            #expect(try await response.body.text(upTo: 100) == "second")
            #expect(response.metadata.attempts == 2)
            #expect(history == ["retry 1 at once: connectionLost"])
            #expect(origin.requests.count == 2)
        }
    }

    /// A server may have processed a POST before it closed the connection.
    private func checkUnsafeRequests() async throws {
        try await warmUp()
        origin.enqueue(.closing)

        let (result, history) = try await call(.post, over: withoutBudget)

        let error = #expect(throws: TransportError.self) { try result.get() }
        #expect(error?.code == .connectionLost && error?.hasLostReusedConnection == true)
        #expect(error?.isUnprocessed == false && error?.meansNotProcessed == false)
        #expect(
            history == [
                "no retry after connectionLost: a POST without Idempotency-Key may not be sent twice"
            ])
        #expect(origin.requests.count == 1)
        origin.enqueue("third")
        try await transport.send(.get(origin.url + "/")).body.drain(upTo: 100)
    }

    /// The second connection is new, so its end says something about the server.
    private func checkNewConnections() async throws {
        try await warmUp()
        origin.enqueue(.closing, .closing)

        let (result, history) = try await call(.get, over: withoutBudget)

        let error = #expect(throws: TransportError.self) { try result.get() }
        #expect(error?.hasLostReusedConnection == false && error?.attempts == 2)
        #expect(
            history == [
                "retry 1 at once: connectionLost", "no retry after connectionLost: the budget of the call is 0 retries",
            ])
        #expect(origin.requests.count == 2)
    }

    /// A part of a response shows that the server has begun to answer.
    private func checkPartialResponses() async throws {
        for part in ["HTTP/1.1 103 Early Hints\r\n\r\n", "HTTP/1.1 200 OK\r\nDate:"] {
            try await warmUp()
            origin.enqueue(.script(.raw(part), .close))

            let error = await #expect(throws: TransportError.self) {
                try await call(.get, over: withoutBudget).result.get()
            }

            #expect(error?.hasLostReusedConnection == false, "\(part)")
            #expect(origin.requests.count == 1)
        }
    }

    /// All connections of a pool die at the same time, as when a server is restarted.
    private func checkManyAtOnce() async throws {
        let gate = Gate()
        origin.route(.get, "/", LoopbackOrigin.Answer(body: "warm").after(.wait(gate)))
        let request = try Request.get(origin.url + "/")
        // The server closes one connection after the other, so a retry may meet one that is about to be closed.
        let connection = transport.retrying(RetryPolicy(baseDelay: .zero, budget: .perCall(3)))
        let warm = (0..<25).map { _ in Task { try await connection.send(request).body.text(upTo: 100) } }
        try await gate.waitForWaiting(1)
        gate.open()
        for task in warm { #expect(try await task.value == "warm") }
        origin.route(.get, "/", "again")
        origin.forgetRequests()
        origin.closeConnections()

        let calls = (0..<25).map { number in
            let task = Task { try await connection.send(request).body.text(upTo: 100) }
            if number % 5 == 0 { task.cancel() }
            return task
        }

        for (number, task) in calls.enumerated() {
            let result = await task.result
            if case .failure(let error) = result {
                #expect(error is CancellationError && number % 5 == 0, "\(error)")
            } else {
                #expect(try result.get() == "again")
            }
        }
        #expect(origin.requests.count <= 50)
    }
}
