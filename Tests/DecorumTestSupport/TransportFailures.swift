public import Decorum
import DecorumConformance
import DecorumTesting
public import Foundation
import HTTPTypes

/// The failures of the network, each provoked over real sockets.
public struct TransportFailures: Sendable {
    /// Makes a transport that goes by a clock and trusts a root certificate; nil for the system's.
    public typealias Factory = @Sendable (_ clock: any DatedClock, _ root: URL?) throws -> any Connection

    private let make: Factory

    /// Creates the failures of a transport.
    public init(_ make: @escaping Factory) {
        self.make = make
    }

    /// Adds the failures to connect, and the failures of a connection.
    public func addPlain(to texts: inout ErrorTexts) async throws {
        let connection = try make(SystemClock(), nil)
        await texts.add("host not found") {
            _ = try await connection.send(.get("http://decorum.invalid/items?key=s3cret"))
        }
        let refusing = try LoopbackOrigin.refusing()
        await texts.add("connection refused") {
            _ = try await connection.send(.get(refusing.url + "/items?key=s3cret"))
        }
        #if os(Linux)
        let full = try FullBacklog()
        await texts.add("connect timeout") { try await timeOut(.get("http://127.0.0.1:\(full.port)/")) }
        #endif
        let origin = try LoopbackOrigin()
        origin.route(.get, "/silent", .hanging)
        await texts.add("idle timeout before the head") {
            try await timeOut(.get(origin.url + "/silent")) { try await origin.waitForHeads(1) }
        }
        origin.route(.get, "/still", .script(.head(.ok, ["Content-Length": "9"]), .raw("hal"), .hang))
        await texts.add("idle timeout within the body") { try await timeOutWithinBody(.get(origin.url + "/still")) }
        let answers: [(name: String, path: String, answer: LoopbackOrigin.Answer)] = [
            ("connection lost before the head", "/closed", .closing),
            ("body cut short", "/cut", .script(.raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal"), .close)),
            ("no HTTP", "/other", .script(.raw("SSH-2.0-OpenSSH\r\nabc\r\n\r\n"), .close)),
        ]
        for (name, path, answer) in answers {
            origin.route(.get, path, answer)
            await texts.add(name) { _ = try await connection.send(.get(origin.url + path)).body.data(upTo: 100) }
        }
        await texts.add("body that cannot be read") {
            let body = Body(length: 9, replay: .once) { _ in try await Body("short").open() }
            _ = try await connection.send(.post(origin.url + "/", body: body))
        }
    }

    /// Adds the failures of TLS that need no root certificate of their own.
    public func addUntrusted(to texts: inout ErrorTexts) async throws {
        let origin = try LoopbackOrigin()
        let connection = try make(SystemClock(), nil)
        await texts.add("no TLS") { _ = try await connection.send(.get("https://127.0.0.1:\(origin.port)/")) }
        let server = try await SecureServer.openssl()
        await texts.add("untrusted root") { _ = try await connection.send(.get(server.url + "/?key=s3cret")) }
    }

    /// Adds the failures of TLS with a root certificate that the transport trusts.
    public func addTrusted(to texts: inout ErrorTexts) async throws {
        var certificate = TestCertificate()
        certificate.isExpired = true
        let expired = try await SecureServer.openssl(certificate: certificate)
        await texts.add("expired certificate") { try await ask(expired) }
        certificate = TestCertificate()
        certificate.names = "DNS:elsewhere.invalid"
        let elsewhere = try await SecureServer.openssl(certificate: certificate)
        await texts.add("certificate for another host") { try await ask(elsewhere) }
        let strict = try await SecureServer.openssl(
            "-tls1_2", "-www", "-Verify", "1", "-verify_return_error", "-CAfile", "root.pem")
        await texts.add("client certificate required") { try await ask(strict) }
    }

    private func ask(_ server: SecureServer) async throws {
        _ = try await make(SystemClock(), server.root).send(.get(server.url + "/"))
    }

    /// Sends a request on a clock that moves, once a condition is met, until nothing was received for five seconds.
    private func timeOut(
        _ request: Request, after isReady: @escaping @Sendable () async throws -> Void = {}
    ) async throws {
        let clock = VirtualClock()
        let connection = try make(clock, nil)
        let task = Task { [request = request.timingOut] in _ = try await connection.send(request) }
        try await isReady()
        try await clock.advance(until: task)
        try await task.value
    }

    private func timeOutWithinBody(_ request: Request) async throws {
        let clock = VirtualClock()
        let response = try await make(clock, nil).send(request.timingOut)
        let task = Task { _ = try await response.body.data(upTo: 100) }
        try await clock.advance(until: task)
        try await task.value
    }
}

extension Request {
    fileprivate var timingOut: Request {
        var request = self
        request.options.idleTimeout = .seconds(5)
        return request
    }
}
