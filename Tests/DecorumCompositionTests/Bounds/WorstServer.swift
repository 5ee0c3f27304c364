import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization

/// An answer of a server that does its worst.
enum WorstAnswer: Sendable {
    /// The one after which nothing is sent again.
    case good
    /// The request was lost before the server saw it, so that a retry of it costs nothing.
    case lost
    /// A retry by a layer is wanted, after at most so long a `Retry-After`, unless the layer's own wait is longer.
    case overloaded(asking: Duration, ownWait: Duration, layer: Int)
    case redirected
    case refusedCoding
    case failed
}

extension [DrawnLayer] {
    /// The answers to one call, in the order of the requests on the wire, that make layers send as often as they can.
    ///
    /// - Parameter active: Decides by the number of a layer that sends more than once whether it is to do that.
    /// - Returns: The answers.
    func worstAnswers(where active: @escaping (Int) -> Bool = { _ in true }) -> [WorstAnswer] {
        var writing = Writing(active: active)
        return writing.answers(to: self[...], endingWith: .good)
    }
}

private struct Writing {
    let active: (Int) -> Bool
    private var hasRefused = false

    init(active: @escaping (Int) -> Bool) {
        self.active = active
    }

    mutating func answers(
        to layers: ArraySlice<DrawnLayer>, endingWith last: WorstAnswer, number: Int = 0
    ) -> [WorstAnswer] {
        guard let layer = layers.first else { return [last] }
        let rest = layers.dropFirst()
        let next = layer.isSending ? number + 1 : number
        var answers: [WorstAnswer] = []
        let triggers = !layer.isSending || active(number) ? triggers(of: layer) : []
        if case .fallback(let branch) = layer {
            return triggers.isEmpty
                ? self.answers(to: rest, endingWith: last, number: next)
                : self.answers(to: rest, endingWith: .failed, number: next)
                    + self.answers(to: branch[...], endingWith: last, number: next)
        }
        for trigger in triggers { answers += self.answers(to: rest, endingWith: trigger, number: next) }
        return answers + self.answers(to: rest, endingWith: last, number: next)
    }

    /// The answers after each of which a layer sends again.
    private mutating func triggers(of layer: DrawnLayer) -> [WorstAnswer] {
        switch layer {
        case .retrying(let policy, let allowed, let id) where policy.retries > 0:
            return (allowed < policy.retries ? [.lost] : [])
                + (0..<allowed).map { retry in
                    let ownWait = min(policy.baseDelay * pow(policy.factor, Double(retry)), policy.maximumDelay)
                    return .overloaded(asking: policy.maximumRetryAfter, ownWait: ownWait, layer: id)
                }
        case .redirecting(let limit):
            return Array(repeating: .redirected, count: limit)
        case .compressing where !hasRefused:
            hasRefused = true
            return [.refusedCoding]
        case .fallback:
            return [.failed]
        default:
            return []
        }
    }
}

/// A server in memory that takes as long as it may, and gives the answers of a script.
final class WorstServer: Connection {
    private struct State {
        var script: [WorstAnswer] = []
        var isSlow = false
        var asks = false
        var pause: Int?
        var next = 0
        var count = 0
        var deadlines: [Int: ContinuousClock.Instant?] = [:]
    }

    /// The longest time that the server takes for an answer; nil where only a deadline ends it.
    let time: Duration?
    let clock: ImpatientClock
    private let state = Mutex(State())

    init(time: Duration?, clock: ImpatientClock) {
        self.time = time
        self.clock = clock
    }

    var layers: [Layer] {
        [Layer(name: "server", role: .transport, time: .init(limit: time.map { .atMost($0) } ?? .unbounded))]
    }

    /// The number of requests since the script began.
    var count: Int { state.withLock(\.count) }

    /// Begins a script.
    ///
    /// - Parameters:
    ///   - script: The answers.
    ///   - isSlow: Whether each answer takes as long as it may.
    ///   - asks: Whether the answers ask for waits, and the reader of their content waits too.
    ///   - pause: The seconds for which each redirection asks all requests to pause.
    func begin(_ script: [WorstAnswer], isSlow: Bool, asks: Bool, pause: Int?) {
        state.withLock { $0 = State(script: script, isSlow: isSlow, asks: asks, pause: pause) }
    }

    /// Notes the deadline of the requests that a layer sends.
    func note(_ deadline: ContinuousClock.Instant?, for layer: Int) {
        state.withLock { _ = $0.deadlines.updateValue(deadline, forKey: layer) }
    }

    func send(_ request: consuming Request) async throws -> Response {
        let deadline = request.options.deadline
        if let deadline, deadline <= clock.now { throw TransportError(.deadlineExceeded, at: .head) }
        request.reportSending()
        let (answer, now) = state.withLock { state in
            defer { (state.next, state.count) = (state.next + 1, state.count + 1) }
            let answer = state.next < state.script.count ? state.script[state.next] : .good
            return (answer, state)
        }
        if now.isSlow {
            let left = deadline.map { $0 - clock.now - .milliseconds(1) }
            try await clock.sleep(for: max(.zero, min(left ?? .seconds(3600), time ?? .seconds(3600))))
        }
        return try response(answer, in: now)
    }

    private func response(_ answer: WorstAnswer, in now: State) throws -> Response {
        // Nothing comes of it until the reader gives up.
        let body = now.asks ? Body(length: nil, replay: .once) { _ in EndlessReader() } : Body.empty
        switch answer {
        case .good:
            return Response(status: .ok, body: "good")
        case .lost:
            var error = TransportError(.connectionLost, at: .head)
            error.isUnprocessed = true
            throw error
        case .overloaded(let asking, let ownWait, let layer):
            var fields = HTTPFields()
            let longest =
                (now.deadlines[layer] ?? nil).map { Self.asked(waitingFor: $0 - clock.now) }
                ?? .max
            let seconds = min(Int(asking.components.seconds), longest)
            if now.asks, seconds > 0, Duration.seconds(seconds) * 1.5 > ownWait { fields[.retryAfter] = "\(seconds)" }
            return Response(status: .serviceUnavailable, fields: fields, body: body)
        case .redirected:
            var fields: HTTPFields = [.location: "/next/\(now.count)"]
            if now.asks, let pause = now.pause { fields[.rateLimit] = #""default";r=0;t=\#(pause)"# }
            return Response(status: .temporaryRedirect, fields: fields, body: body)
        case .refusedCoding:
            return Response(status: .unsupportedMediaType, fields: [.acceptEncoding: "identity"], body: body)
        case .failed:
            return Response(status: .internalServerError, body: body)
        }
    }

    /// The seconds to ask for so that a client waits for nearly a time: it adds up to half of them, from 1 to 20.
    static func asked(waitingFor time: Duration) -> Int {
        let seconds = (time - .milliseconds(10)) / .seconds(1)
        return max(0, Int(seconds > 60 ? seconds - 20 : seconds > 3 ? seconds / 1.5 : seconds - 1))
    }
}

private struct EndlessReader: BodyReader {
    let trailers: HTTPFields? = nil

    mutating func next() async throws -> Data? {
        try await Gate().wait()
        return nil
    }
}

extension HTTPField.Name {
    // A name without characters that a name cannot have.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let rateLimit = HTTPField.Name("RateLimit")!
}
