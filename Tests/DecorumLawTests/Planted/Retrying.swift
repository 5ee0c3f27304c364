import Decorum
import DecorumConformance
import DecorumTesting
import Foundation
import HTTPTypes

/// A layer that sends again after a 429, and after a connection that was lost.
struct AgainConnection: ComposedConnection {
    /// The typical mistakes of layers that send again.
    enum Mistake: CaseIterable, Sendable {
        case sendsPosts, sendsPostsAfterLoss, sendsOnceBodies, swallowsTheSleep, ignoresCancellation, takesCancellation
        case holdsTheResponse, readsAllOfIt, isSilent, forgetsOptions, wrapsErrors, throwsStatus, outlivesTheCaller
        case logsFields, namesFieldsInErrors, waitsInSilence
    }

    let base: AnyConnection
    let conditions: DecoratorConditions
    var mistake: Mistake?

    var layer: Layer {
        var facts: Set<Layer.Fact> = [.readsClock, .records]
        if mistake != .isSilent { facts.insert(.resends) }
        if mistake != .waitsInSilence { facts.insert(.waits) }
        return Layer(name: "again", role: .resilience, facts: facts)
    }

    func send(_ request: consuming Request) async throws -> Response {
        let request = request
        if mistake == .logsFields { conditions.log.write("sending \(request.head.headerFields)") }
        var held: [Response] = []
        defer { withExtendedLifetime(held) {} }
        for attempt in 0... {
            do {
                let response = try await sendOnce(request, attempt: attempt)
                guard response.status == .tooManyRequests || (mistake == .sendsPosts && response.status.code >= 500),
                    attempt < 2, maySendAgain(request, after: response.status)
                else { return try returned(response, to: request) }
                if mistake == .holdsTheResponse {
                    held.append(response)
                } else if mistake == .readsAllOfIt {
                    try await response.body.drain(upTo: .max)
                } else {
                    try await response.body.discard(on: conditions.clock)
                }
            } catch let error as TransportError where attempt < 2 && isLost(error, request) {
                conditions.log.write("lost: \(error)")
            } catch {
                if mistake == .takesCancellation, attempt < 2 { continue }
                guard mistake == .wrapsErrors, !(error is CancellationError) else { throw error }
                throw TransportError(.other, at: .head, underlying: error)
            }
            try await wait()
        }
        throw CancellationError()
    }

    private func sendOnce(_ request: Request, attempt: Int) async throws -> Response {
        let base = base
        if mistake == .outlivesTheCaller { return try await Task { try await base.send(request) }.value }
        let isForgetful = mistake == .forgetsOptions && attempt > 0
        return try await base.send(isForgetful ? Request(head: request.head, body: request.body) : request)
    }

    private func returned(_ response: Response, to request: Request) throws -> Response {
        if mistake == .throwsStatus, response.status.code >= 400 { throw TransportError(.other, at: .head) }
        if mistake == .namesFieldsInErrors, response.status.code >= 400 {
            throw RefusedError(fields: request.head.headerFields)
        }
        return response
    }

    private func wait() async throws {
        switch mistake {
        case .swallowsTheSleep: try? await conditions.clock.sleep(for: .seconds(1))
        case .ignoresCancellation: break
        default:
            try await conditions.clock.sleep(for: .seconds(1))
        }
    }

    private func isLost(_ error: TransportError, _ request: Request) -> Bool {
        guard error.stage > .connecting else { return request.body.replay > .once || request.body.isEmpty }
        return error.code == .connectionLost && (isIdempotent(request) || mistake == .sendsPostsAfterLoss)
            && (request.body.replay > .once || request.body.isEmpty)
    }

    private func maySendAgain(_ request: Request, after status: HTTPResponse.Status) -> Bool {
        guard request.body.replay > .once || request.body.isEmpty || mistake == .sendsOnceBodies else { return false }
        return status == .tooManyRequests || isIdempotent(request) || mistake == .sendsPosts
    }

    private func isIdempotent(_ request: Request) -> Bool {
        [.get, .head, .put, .delete, .options].contains(request.head.method)
    }
}

private struct RefusedError: Error {
    let fields: HTTPFields
}
