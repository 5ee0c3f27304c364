import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    /// The cases of TLS, of which most ask for a root of their own, and are skipped without openssl.
    public static let tls: [TransportCase] = [
        .trustedServer, .untrustedServer, .wrongHost, .expiredCertificate, .clientCertificate, .plainServer,
        .plainRequest, .silentHandshake,
    ]

    /// A request is sent to a server whose certificate leads to the root of the conditions.
    public static let trustedServer = TransportCase(
        "trustedServer", "A server whose certificate leads to the root, for the host of the request, is sent to."
    ) { subject in
        let server = try await SecureServer.openssl("-www")
        for host in ["127.0.0.1", "localhost"] {
            let connection = try subject.factory(TransportConditions(root: server.root))
            let response = try await connection.send(.get("https://\(host):\(server.port)/"))
            try requireEqual(response.status, .ok, "The status of \(host)")
            let text = String(decoding: try await response.body.collectAll().data, as: UTF8.self)
            try require(text.contains("s_server"), "The content of \(host) is not the server's: \(text)")
        }
    }

    /// Nothing is sent to a server without a trusted certificate.
    public static let untrustedServer = TransportCase(
        "untrustedServer", "A server whose certificate leads to no root fails as TLS, and nothing is sent to it."
    ) { subject in
        for isSystem in [true, false] {
            let server = try await SecureServer.openssl("-naccept", "1")
            let connection = try subject.factory(TransportConditions(root: isSystem ? nil : server.stranger))
            try await requireRefusal(of: server, by: connection, "A certificate without a trusted root")
        }
    }

    /// A certificate is for its hosts alone (RFC 9110, section 4.3.4).
    public static let wrongHost = TransportCase(
        "wrongHost", "A certificate for another host fails as TLS, and nothing is sent."
    ) { subject in
        for names in ["DNS:elsewhere.invalid", "DNS:127.0.0.1", "IP:127.0.0.2"] {
            var certificate = TestCertificate()
            certificate.names = names
            let server = try await SecureServer.openssl("-naccept", "1", certificate: certificate)
            let connection = try subject.factory(TransportConditions(root: server.root))
            try await requireRefusal(of: server, by: connection, "A certificate for \(names)")
        }
    }

    /// A certificate is valid for a limited time, and an expired one is refused.
    public static let expiredCertificate = TransportCase(
        "expiredCertificate", "An expired certificate fails as TLS, and nothing is sent."
    ) { subject in
        var certificate = TestCertificate()
        certificate.isExpired = true
        let server = try await SecureServer.openssl("-naccept", "1", certificate: certificate)
        let connection = try subject.factory(TransportConditions(root: server.root))
        try await requireRefusal(of: server, by: connection, "A certificate of the year 2020")
    }

    /// A server may ask who the client is.
    public static let clientCertificate = TransportCase(
        "clientCertificate", "A server that asks for the client's certificate gets it; without one the request fails."
    ) { subject in
        for version in ["-tls1_2", "-tls1_3"] {
            let server = try await SecureServer.openssl(
                version, "-www", "-Verify", "1", "-verify_return_error", "-CAfile", "root.pem")
            let request = try Request.get(server.url + "/")
            let known = try subject.factory(TransportConditions(root: server.root, identity: server.identity))
            let response = try await known.send(request)
            try requireEqual(response.status, .ok, "The status for a client that is known")
            _ = try await response.body.collectAll()

            let unknown = try subject.factory(TransportConditions(root: server.root))
            // With TLS 1.3 the client may have sent its request before the server says no.
            try await requireTransportError(of: [.tls, .connectionLost], "A client that shows nothing") {
                _ = try await unknown.send(request)
            }
        }
    }

    /// If a server does not support TLS, nothing is sent to it, since the connection would not be encrypted.
    public static let plainServer = TransportCase(
        "plainServer", "A server that does not speak TLS fails as TLS, and nothing is sent in clear text."
    ) { subject in
        let bench = try await subject.bench()
        try await requireTransportError(of: [.tls, .connectionLost], at: .connecting, "A server without TLS") {
            _ = try await bench.connection.send(
                .post("https://127.0.0.1:\(bench.origin.port)/", body: "s3cret"))
        }
        try requireEqual(bench.origin.requests.count, 0, "The number of requests")
    }

    /// If a request in clear text goes to a server with TLS, the answer is not HTTP.
    public static let plainRequest = TransportCase(
        "plainRequest", "A server of TLS that is asked in clear text makes an error."
    ) { subject in
        let server = try await SecureServer.openssl()
        try await requireTransportError(
            of: [.malformedResponse, .connectionLost], at: .head, "A server of TLS that is asked in clear text"
        ) {
            _ = try await subject.make(SystemClock()).send(.get("http://127.0.0.1:\(server.port)/"))
        }
    }

    /// The idle timeout also ends a handshake that makes no progress.
    public static let silentHandshake = TransportCase(
        "silentHandshake", "A server that says nothing in place of a handshake is given up after the idle timeout."
    ) { subject in
        // The system accepts connections for a server that never reads them.
        let (socket, port) = try Socket.bound()
        try socket.startListening()
        let clock = VirtualClock()
        let connection = try subject.make(clock)
        let request = try Request.get("https://127.0.0.1:\(port)/")
        let task = Task { _ = try await connection.send(request) }
        try await withDeadline("No task waits on the clock for a handshake.") { try await clock.waitForSleepers() }
        // The time counts anew from the moment at which the connection begins.
        try await clock.advance(until: task)
        try await requireTransportError(of: [.timedOut], "A silent handshake") {
            try await withDeadline("The idle timeout did not end a handshake.") { try await task.value }
        }
        socket.release()
    }

    private static func requireRefusal(
        of server: SecureServer, by connection: any Connection, _ event: String
    ) async throws {
        try await requireTransportError(of: [.tls], at: .connecting, event) {
            _ = try await connection.send(
                .post(server.url + "/", fields: [.authorization: "s3cret"], body: "s3cret"))
        }
        let output = try await withDeadline("\(event) leaves the connection open.") {
            try await server.outputOfAll()
        }
        try require(!output.contains("s3cret"), "\(event) fails only after the request was sent.")
    }
}
