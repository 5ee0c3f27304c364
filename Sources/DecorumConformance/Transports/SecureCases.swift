import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension TransportCase {
    /// The cases of TLS, of which most ask for a root of their own, and are skipped without openssl.
    public static let tls: [TransportCase] = [
        .trustedServer, .untrustedServer, .wrongCertificate, .clientCertificate, .plainServer, .plainRequest,
        .silentHandshake,
    ]

    /// A request is sent to a server whose certificate leads to the root of the conditions.
    package static let trustedServer = TransportCase.ofSubject("trustedServer") { subject in
        let server = try await SecureServer.openssl("-www")
        for host in ["127.0.0.1", "localhost"] {
            let connection = try subject.factory(TransportConditions(root: server.root))
            let response = try await connection.send(.get("https://\(host):\(server.port)/"))
            try expect(response.status, is: .ok, "status of \(host)")
            let text = try await response.text()
            try expect(text.contains("s_server"), "the server's content")
        }
    }

    /// Nothing is sent to a server whose certificate leads to no trusted root.
    package static let untrustedServer = TransportCase.ofSubject("untrustedServer") { subject in
        for isSystem in [true, false] {
            let server = try await SecureServer.openssl("-naccept", "1")
            let connection = try subject.factory(TransportConditions(root: isSystem ? nil : server.stranger))
            try await expectRefusal(of: server, by: connection)
        }
    }

    /// A certificate is for its hosts alone (RFC 9110, section 4.3.4), and for a limited time.
    package static let wrongCertificate = TransportCase.ofSubject("wrongCertificate") { subject in
        for names in ["DNS:elsewhere.invalid", "DNS:127.0.0.1", "IP:127.0.0.2", nil] {
            var certificate = TestCertificate()
            certificate.names = names ?? certificate.names
            certificate.isExpired = names == nil
            let server = try await SecureServer.openssl("-naccept", "1", certificate: certificate)
            let connection = try subject.factory(TransportConditions(root: server.root))
            try await expectRefusal(of: server, by: connection, names ?? "expired")
        }
    }

    /// A server may ask who the client is.
    package static let clientCertificate = TransportCase.ofSubject("clientCertificate") { subject in
        for version in ["-tls1_2", "-tls1_3"] {
            let server = try await SecureServer.openssl(
                version, "-www", "-Verify", "1", "-verify_return_error", "-CAfile", "root.pem")
            let request = try Request.get(server.url + "/")
            let identity = TransportConditions.Identity(certificate: server.clientCertificate, key: server.clientKey)
            let known = try subject.factory(TransportConditions(root: server.root, identity: identity))
            let response = try await known.send(request)
            try expect(response.status, is: .ok, "status")
            _ = try await response.body.collectAll()

            let unknown = try subject.factory(TransportConditions(root: server.root))
            // With TLS 1.3 the client may have sent its request before the server says no.
            try await expectFailure([.tls, .connectionLost]) { _ = try await unknown.send(request) }
        }
    }

    /// If a server does not support TLS, nothing is sent to it, since the connection would not be encrypted.
    package static let plainServer = TransportCase("plainServer") { bench in
        try await expectFailure([.tls, .connectionLost], at: .connecting) {
            _ = try await bench.connection.send(
                .post("https://127.0.0.1:\(bench.origin.port)/", body: "s3cret"))
        }
        try expect(bench.origin.requests.count, is: 0, "requests")
    }

    /// If a request in clear text goes to a server with TLS, the answer is not HTTP.
    package static let plainRequest = TransportCase.ofSubject("plainRequest") { subject in
        let server = try await SecureServer.openssl()
        try await expectFailure([.malformedResponse, .connectionLost], at: .head) {
            _ = try await subject.make().send(.get("http://127.0.0.1:\(server.port)/"))
        }
    }

    /// The idle timeout also ends a handshake that makes no progress.
    package static let silentHandshake = TransportCase.ofSubject("silentHandshake") { subject in
        // The system accepts connections for a server that never reads them.
        let (socket, port) = try Socket.bound()
        try socket.startListening()
        let clock = VirtualClock()
        let connection = try subject.make(clock)
        let request = try Request.get("https://127.0.0.1:\(port)/")
        let task = Task { _ = try await connection.send(request) }
        try await withDeadline { try await clock.waitForSleepers() }
        // The time counts anew from the moment at which the connection begins.
        try await clock.advance(until: task)
        try await expectFailure([.timedOut]) { try await withDeadline { try await task.value } }
        socket.release()
    }

    private static func expectRefusal(
        of server: SecureServer, by connection: any Connection, _ row: String = ""
    ) async throws {
        try await expectFailure([.tls], at: .connecting, in: row) {
            _ = try await connection.send(
                .post(server.url + "/", fields: [.authorization: "s3cret"], body: "s3cret"))
        }
        let output = try await withDeadline { try await server.outputOfAll() }
        try expect(output.contains("s3cret"), is: false, "sent secret")
    }

    /// The cases over HTTP/2, which ask for TLS with a root of their own, and are skipped without nginx and openssl.
    public static let http2: [TransportCase] = ownHTTP2 + sharedWithHTTP1.map(\.overHTTP2)

    private static let ownHTTP2: [TransportCase] = [
        .sharedConnection, .heldStreams, .droppedStreams, .retiredConnection,
    ]

    /// The cases whose bytes nginx leaves as they are.
    ///
    /// It keeps informational responses, trailer fields of either side, and a head without content to itself. libcurl
    /// sends no trailer fields over HTTP/2 at all.
    private static let sharedWithHTTP1: [TransportCase] = [
        .fixedLength, .noContent, .requestFields, .targets, .setCookies, .chunksAsTheyArrive,
        .slowDrip, .backPressure, .unreadDrop, .partialDrop, .wholeUploads,
        .emptyUploads, .echo, .streamedUpload, .failingUpload, .wrongLength, .redirections, .challenges, .cookies,
        .cancelledTask, .cancellationBeforeHead, .cancellationWithinBody, .cancelledReader,
        .idleBeforeHead, .idleWithinBody, .deadlineBeforeHead, .deadlineOfBody, .deadlineSparesBody, .thousand,
        .randomCancellation,
    ]

    /// Requests at the same time are streams of one connection.
    package static let sharedConnection = TransportCase.ofSubject("sharedConnection") { subject in
        let bench = try await subject.overHTTP2.bench()
        let numbers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<64 {
                let request = try bench.request(.get, "/connection")
                group.addTask { try await bench.connection.send(request).text() }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        try expect(numbers.count, is: 1, "connections")
    }

    /// A stream whose reader takes nothing delays no other stream.
    package static let heldStreams = TransportCase.ofSubject("heldStreams") { subject in
        let bench = try await subject.overHTTP2.bench()
        bench.origin.route(.get, "/large", .generated(count: 4 << 20))
        var held: [any BodyReader] = []
        for _ in 0..<4 {
            var reader = try await bench.send(.get, "/large").body.open()
            _ = try await reader.next()
            held.append(reader)
        }
        try await withDeadline {
            for _ in 0..<3 {
                let response = try await bench.send(.get, "/large")
                try expect(try await response.body.countPattern(), is: 4 << 20, "bytes")
            }
        }
        for var reader in held {
            while try await reader.next() != nil {}
        }
    }

    /// A stream that is dropped ends alone.
    package static let droppedStreams = TransportCase.ofSubject("droppedStreams") { subject in
        let bench = try await subject.overHTTP2.bench()
        bench.origin.route(.get, "/large", .generated(count: 1 << 20))
        bench.origin.route(.get, "/endless", .generated(count: 1 << 40))
        bench.origin.route(.get, "/hanging", .hanging)
        let number = try await bench.connectionNumber()
        let whole = try await bench.send(.get, "/large")
        for _ in 0..<10 {
            _ = try await bench.send(.get, "/endless")
            var reader = try await bench.send(.get, "/endless").body.open()
            _ = try await reader.next()
            let task = bench.start(try bench.request(.get, "/hanging"))
            await Task.yield()
            task.cancel()
            try await expectCancelled(task)
        }
        try expect(try await whole.body.countPattern(), is: 1 << 20, "bytes")
        try await bench.expectClosed()
        try expect(try await bench.connectionNumber(), is: number, "connection")
    }

    /// A server that takes no more streams on a connection says so, and the next request goes on another.
    package static let retiredConnection = TransportCase.ofSubject("retiredConnection") { subject in
        let origin = try LoopbackOrigin()
        origin.route(nil, "*", .init(body: "ok"))
        let server = try await SecureServer.nginx(before: origin, keepingConnectionFor: 5)
        let bench = TransportBench(
            origin: origin, connection: try subject.factory(TransportConditions(root: server.root)), server: server)
        let first = try await bench.connectionNumber()
        for round in 1...30 {
            let method: HTTPRequest.Method = round % 2 == 0 ? .post : .get
            let response = try await bench.send(method, body: method == .post ? "hello" : .empty)
            try expect(try await response.text(), is: "ok", "answer to request \(round)")
        }
        try expect(origin.requests.count, is: 30, "requests")
        try expect(try await bench.connectionNumber() != first, "a new connection")
    }
}

extension TransportBench {
    fileprivate func connectionNumber() async throws -> String {
        try await connection.send(request(.get, "/connection")).text()
    }
}
