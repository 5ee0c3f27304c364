import Decorum
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that a response is returned with the status that it has, from 100 to 999.
    ///
    /// A status is never an error. A client must treat an unknown status as the first one of its class (RFC 9110,
    /// section 15). So a decorator must not trap, replace the status, or throw because of it.
    public static let statuses = DecoratorLaw(
        "statuses", "Every status from 100 to 999 reaches the caller as it is."
    ) { subject in
        for code in 100...999 {
            let status = HTTPResponse.Status(code: code, reasonPhrase: "As it is")
            let probe = Probe { _, _ in Response(status: status, fields: [.retryAfter: "0"]) }
            let response: Response
            do {
                response = try await subject.connection(over: probe).send(.lawful())
            } catch {
                throw ConformanceFailure("The status \(code) was thrown for: \(error)")
            }
            try requireEqual(response.status.code, code, "The status")
            try requireEqual(response.status.reasonPhrase, "As it is", "The reason phrase of \(code)")
        }
        for path in subject.activePaths where path.calls == 1 {
            let given = Monitor<Set<Int>>([])
            let provoked = try await path.provoke(subject, with: path.request()) { _, _, outcome in
                let response = try outcome.get()
                given.update { _ = $0.insert(response.status.code) }
                return response
            }
            guard !provoked.mayAnswer, !given.state.isEmpty else { continue }
            let code = try provoked.result.get().status.code
            try require(given.state.contains(code), "With \(path), a \(code) was returned that the base has not sent.")
        }
    }

    /// Demands that an error of the base reaches the caller as the value that was thrown.
    ///
    /// A caller finds a transport's failure, or an error of their own layer, by its type. A layer hides an error that it
    /// wraps, or that it takes for another one.
    public static let errors = DecoratorLaw(
        "errors", "Each error of the base reaches the caller as it is."
    ) { subject in
        for make in errorMakers {
            let thrown = Monitor<(any Error)?>(nil)
            let probe = Probe { _, number in
                let error = make(number)
                thrown.update { $0 = error }
                throw error
            }
            let connection = try subject.connection(over: probe)
            do {
                _ = try await connection.send(.lawful())
            } catch {
                try requireSame(error, as: thrown.state, "sending")
                continue
            }
            throw ConformanceFailure("An error of the base, \(String(describing: thrown.state)), was swallowed.")
        }
        for path in subject.activePaths {
            for number in 1...4 {
                let failure = VendorError(number: number)
                let thrown = Monitor(false)
                let forwarded = Monitor(0)
                let provoked = try await path.provoke(subject, with: path.request()) { request, _, outcome in
                    guard !subject.isOwnRequest(request.head), forwarded.increment() == number else {
                        return try outcome.get()
                    }
                    thrown.update { $0 = true }
                    throw failure
                }
                guard thrown.state, !provoked.mayAnswer else { continue }
                try requireSame(provoked.error, as: failure, "sending with \(path)")
            }
        }
    }

    /// Demands that an error while a body is read reaches its reader as the value that was thrown.
    ///
    /// That is the caller for a response, and the transport for a request. A body that fails never ends as if it were
    /// whole.
    public static let bodyErrors = DecoratorLaw(
        "bodyErrors", "An error within a body reaches its reader as it is."
    ) { subject in
        for fields: HTTPFields in [[:], [.eTag: #""1""#]] {
            let failure = VendorError(number: 1)
            let probe = Probe { _, _ in
                Response(status: .ok, fields: fields, body: BodyProbe().body(chunks: 2, failure: failure))
            }
            let response = try await subject.connection(over: probe).send(.lawful())
            try requireSame(await Self.error(reading: response.body), as: failure, "reading a response")
        }
        for path in subject.activePaths {
            try await checkBrokenBodies(in: subject, on: path)
        }
        let failure = VendorError(number: 2)
        let met = Monitor<(any Error)?>(nil)
        let probe = Probe { request, _ in
            let error = await Self.error(reading: request.body)
            met.update { $0 = error }
            return Response(status: .ok)
        }
        let body = BodyProbe().body(chunks: 2, failure: failure)
        _ = try? await subject.connection(over: probe).send(.lawful(.post, body: body))
        try requireSame(met.state, as: failure, "reading a request's content")
    }

    private static func checkBrokenBodies(in subject: DecoratorSubject, on path: ActivePath) async throws {
        let failure = VendorError(number: 3)
        let contents = Monitor<[BodyProbe]>([])
        let provoked = try await path.provoke(subject, with: path.request()) { request, _, outcome in
            guard !subject.isOwnRequest(request.head) else { return try outcome.get() }
            let answer = try await outcome.get().carried(for: request.head.method, chunks: 2, failure: failure)
            contents.update { $0.append(answer.content) }
            return answer.response
        }
        var error = provoked.error
        if case .success(let response) = provoked.result { error = await Self.error(reading: response.body) }
        // The body of a response that is not returned may fail, or not be read so far.
        guard let last = contents.state.last, !provoked.mayAnswer, last.state.openings > 0 else { return }
        try requireSame(error, as: failure, "reading a response with \(path)")
    }

    private static func error(reading body: Body) async -> (any Error)? {
        do {
            _ = try await body.collectAll()
            return nil
        } catch {
            return error
        }
    }

    private static let errorMakers: [@Sendable (Int) -> any Error] = [
        { VendorError(number: $0) },
        { VendorValue(number: $0) },
        { TransportError(.connectionLost, at: .head, underlying: VendorError(number: $0)) },
        { TransportError(.tls, at: .connecting, underlying: VendorError(number: $0)) },
        { TransportError(.init("vendor \($0)"), at: .body) },
        { InvalidRequestError(.invalidPath, "number \($0)") },
        { _ in BodyReadTwiceError() },
        { _ in CancellationError() },
    ]

    private static func requireSame(
        _ error: (any Error)?, as thrown: (any Error)?, _ moment: String
    ) throws(ConformanceFailure) {
        try require(
            error.isSame(as: thrown),
            "While \(moment), \(String(describing: thrown)) became \(String(describing: error)).")
    }
}

private final class VendorError: Error, CustomStringConvertible {
    let number: Int

    init(number: Int) {
        self.number = number
    }

    var description: String { "vendor error \(number)" }
}

private struct VendorValue: Error, Hashable {
    let number: Int
}

extension (any Error)? {
    /// Whether both are the same object, or equal values of the same type.
    fileprivate func isSame(as other: (any Error)?) -> Bool {
        switch (self, other) {
        case (nil, nil): true
        case (let lhs as VendorError, let rhs as VendorError): lhs === rhs
        case (let lhs as TransportError, let rhs as TransportError):
            lhs.code == rhs.code && lhs.stage == rhs.stage && lhs.underlying.isSame(as: rhs.underlying)
        case (is CancellationError, is CancellationError): true
        case (let lhs as any Hashable, let rhs as any Hashable): AnyHashable(lhs) == AnyHashable(rhs)
        default: false
        }
    }
}
