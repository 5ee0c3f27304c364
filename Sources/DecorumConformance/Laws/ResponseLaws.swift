import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that the body of a response is opened at most once, and reaches the caller whole.
    ///
    /// A layer that reads it, to examine or to store it, forwards what it has read.
    public static let responseBodiesOnce = DecoratorLaw("responseBodiesOnce") { subject in
        try await eachShape(of: subject) { path, knowsLength in
            let exchange = try await Exchange(subject, on: path, knowingLength: knowsLength, chunks: 5)
            guard let response = try await path.response(of: exchange.provoked, by: subject) else { return }
            try await expectWhole(try await response.body.collectAll().data, of: exchange, on: path, by: subject)
            for (content, chunks) in exchange.contents where chunks > 0 {
                let isNeeded = path.isOfLaws && content.state.openings == 0
                try expect(content.state.openings <= 1 && !isNeeded, "one opening, got \(content.state.openings)")
            }
        }
    }

    private static func expectWhole(
        _ data: Data, of exchange: Exchange, on path: ActivePath, by subject: DecoratorSubject
    ) async throws {
        if !subject.mayChange(.responseContent, on: path), path.calls == 1 {
            let isOfBase = exchange.contents.contains { $0.content.data(chunks: $0.chunks) == data }
            try expect(isOfBase, "the base's content, got \(data.count) bytes")
        }
        guard !path.isOfLaws, case .success(let reference) = try await path.provokeInMemory(subject).result else {
            return
        }
        let expected = try await reference.body.collectAll().data
        try expect(data == expected, "\(expected.count) bytes as in memory, got \(data.count)")
    }

    /// Demands that the content of a response is read no earlier than the caller takes it.
    ///
    /// The response is returned when its head is there. A layer that reads ahead holds a download of any size in memory. One
    /// chunk may be ready.
    public static let responseStreaming = DecoratorLaw("responseStreaming") { subject in
        try await eachShape(of: subject) { path, knowsLength in
            let exchange = try await Exchange(subject, on: path, knowingLength: knowsLength, chunks: 64)
            guard let response = try await path.response(of: exchange.provoked, by: subject),
                let content = exchange.contents.last(where: { $0.chunks > 0 })?.content
            else { return }
            // If the content changes, its chunks cannot be counted after the first one was read.
            let steps = subject.mayChange(.responseContent, on: path) ? 0 : 3
            var reader = try await response.body.open()
            var taken = 0
            for step in 0...steps {
                if step > 0 { taken += try await reader.next()?.count ?? 0 }
                let ahead = content.state.bytesRead - taken
                try expect(ahead <= content.largestChunk, "one chunk ahead of \(step), got \(ahead) bytes")
            }
        }
    }

    /// Demands that the trailer fields of a response reach the caller.
    ///
    /// A layer that wraps or replaces the body reads the wrapped one to its end, which the trailer fields follow.
    public static let responseTrailers = DecoratorLaw("responseTrailers") { subject in
        let trailers: HTTPFields = [.eTag: "1", .server: "a", .eTag: "2"]
        try await eachShape(of: subject) { path, knowsLength in
            let exchange = try await Exchange(
                subject, on: path, knowingLength: knowsLength, chunks: 2, trailers: trailers)
            // Not what the decorator has kept or made.
            guard let response = try await path.response(of: exchange.provoked, by: subject),
                exchange.contents.contains(where: { $0.chunks > 0 }), path.calls == 1,
                response.head.mayHaveContent(for: path.request?.head.method ?? .get)
            else { return }
            try expect(try await response.body.collectAll().trailers, is: trailers, "trailers")
        }
    }

    /// Demands that a transfer ends when the caller releases its response, read in part or not at all.
    ///
    /// A layer that still holds the body, in a task or in a table, keeps a connection to the server busy without use.
    public static let earlyDrop = DecoratorLaw("earlyDrop") { subject in
        try await eachShape(of: subject) { path, knowsLength in
            for chunks in 0...2 {
                let (contents, connection) = try await contents(ofDroppingAfter: chunks, on: path, by: subject) {
                    try await Exchange(subject, on: path, knowingLength: knowsLength, chunks: 64)
                }
                for content in contents {
                    // A layer may release it in a task that is about to end.
                    let end = ContinuousClock.now + .seconds(1)
                    while content.isHeld, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(1)) }
                    try expect(!content.isHeld, "a released transfer")
                }
                // A stack outlives its calls, and so does everything that it kept of them.
                withExtendedLifetime(connection) {}
            }
        }
    }

    private static func eachShape(
        of subject: DecoratorSubject, _ examine: (_ path: ActivePath, _ knowsLength: Bool) async throws -> Void
    ) async throws {
        try await subject.each(subject.contentPaths) { path in
            for knowsLength in [false, true] { try await examine(path, knowsLength) }
        }
    }

    /// Reads a part of a response, then releases everything that holds it except for the connection.
    private static func contents(
        ofDroppingAfter count: Int, on path: ActivePath, by subject: DecoratorSubject,
        _ exchange: @Sendable () async throws -> Exchange
    ) async throws -> ([BodyProbe], any Connection) {
        let exchange = try await exchange()
        let held = (exchange.contents.map(\.content), exchange.provoked.connection)
        guard count > 0, let response = try await path.response(of: exchange.provoked, by: subject) else { return held }
        var reader = try await response.body.open()
        for _ in 0..<count { _ = try await reader.next() }
        return held
    }

    /// Demands that a response which the caller does not get is released before the next request is sent.
    ///
    /// Its transfer holds a connection to the server, which the next attempt may need. A layer may read a short rest, up to
    /// 1 MiB, so that the connection can be used again.
    public static let release = DecoratorLaw("release") { subject in
        try await subject.each(subject.provocations) { path in
            let transfers = Monitor<[BodyProbe]>([])
            let held = Monitor(0)
            let provoked = try await path.provoke(subject, includingOwn: true) { request, _, outcome in
                let count = transfers.state.count(where: \.isHeld)
                held.update { $0 = max($0, count) }
                let answer = try await outcome.get().carried(for: request.head.method, chunks: 1024)
                let content = answer.content
                let index = transfers.update { transfers in
                    transfers.append(content)
                    return transfers.count - 1
                }
                var response = answer.response
                response.metadata[TransferNumberKey.self] = index
                return response
            }
            try expect(held.state, is: 0, "responses held meanwhile")
            let returned = (try? provoked.result.get())?.metadata[TransferNumberKey.self]
            for (index, transfer) in transfers.state.enumerated() where index != returned {
                try expect(!transfer.isHeld || returned == nil, "a released response")
                // After the caller got another answer, a layer may read a response in order to store it.
                guard returned != nil || !provoked.mayAnswer else { continue }
                try expect(transfer.state.bytesRead <= 1 << 20, "at most 1 MiB, got \(transfer.state.bytesRead)")
            }
        }
    }

    /// Demands that the fields of a response reach the caller: their repeats, their order, and names of any kind.
    ///
    /// `Set-Cookie` cannot be joined; the other fields could, but a caller may tell the difference.
    public static let responseFields = DecoratorLaw("responseFields") { subject in
        var fields = oddFields
        for value in ["a=1; Expires=Thu, 01 Jan 2037 00:00:00 GMT", #"b="x, y""#, "c=3"] {
            fields.append(HTTPField(name: .setCookie, value: value))
        }
        // A response that is kept has the fields that the server has confirmed it with.
        try await subject.each(subject.contentPaths.filter { $0.calls == 1 }) { [fields] path in
            let provoked = try await path.provoke(subject) { _, _, outcome in
                var response = try outcome.get()
                for field in fields { response.head.headerFields.append(field) }
                return response
            }
            guard let response = try await path.response(of: provoked, by: subject) else { return }
            try expectFields(response.head.headerFields, include: Array(fields))
        }
    }

    /// Demands that the metadata of a response reaches the caller, known or not.
    public static let metadata = DecoratorLaw("metadata") { subject in
        try await subject.each(subject.provocations.filter { $0.calls == 1 }) { path in
            let url = URL(string: DecoratorLaw.origin + "/answered")
            let early = HTTPResponse(status: .init(code: 103))
            let provoked = try await path.provoke(subject) { _, number, outcome in
                var response = try outcome.get()
                response.metadata[VendorMetadataKey.self] = number
                response.metadata.source = .cassette
                response.metadata.informational = [early]
                response.metadata.decodedContentCodings = ["gzip"]
                response.metadata.url = url
                return response
            }
            guard case .success(let response) = provoked.result, path.isOfLaws || !provoked.mayAnswer else { return }
            let metadata = response.metadata
            try expect(metadata[VendorMetadataKey.self], is: provoked.sent.count, "unknown metadata")
            try expect(metadata.source, is: .cassette, "source")
            try expect(metadata.informational, is: [early], "informational responses")
            // A layer that decodes adds what it has decoded to what the transport has.
            let codings = path.isOfLaws ? metadata.decodedContentCodings : metadata.decodedContentCodings.suffix(1)
            try expect(codings, is: ["gzip"], "decoded codings")
            if provoked.requests.count == 1 { try expect(metadata.url, is: url, "URL") }
        }
    }

    /// Demands that a response is returned with the status that it has, from 100 to 999.
    ///
    /// A status is never an error. A client treats an unknown status as the first one of its class (RFC 9110, section 15).
    public static let statuses = DecoratorLaw("statuses") { subject in
        for code in Array(100...599) + [600, 999] {
            let status = HTTPResponse.Status(code: code, reasonPhrase: "As it is")
            let probe = Probe { _, _ in Response(status: status, fields: [.retryAfter: "0"]) }
            let response: Response
            do {
                response = try await subject.connection(over: probe).send(.lawful())
            } catch {
                throw ConformanceFailure("The status \(code) was thrown for: \(error)")
            }
            try expect(response.status.code, is: code, "status")
            try expect(response.status.reasonPhrase, is: "As it is", "reason phrase")
        }
        try await subject.each(subject.activePaths.filter { $0.calls == 1 }) { path in
            let given = Monitor<Set<Int>>([])
            let provoked = try await path.provoke(subject, includingOwn: true) { _, _, outcome in
                let response = try outcome.get()
                given.update { _ = $0.insert(response.status.code) }
                return response
            }
            guard !provoked.mayAnswer, !given.state.isEmpty else { return }
            let code = try provoked.result.get().status.code
            try expect(given.state.contains(code), "a status of the base, got \(code)")
        }
    }

    /// Demands that an error of the base reaches the caller as the value that was thrown.
    ///
    /// A caller finds a transport's failure, or an error of their own layer, by its type, which a wrapper hides.
    public static let errors = DecoratorLaw("errors") { subject in
        for make in errorMakers {
            let thrown = Monitor<(any Error)?>(nil)
            let probe = Probe { _, number in
                let error = make(number)
                thrown.update { $0 = error }
                throw error
            }
            let connection = try subject.connection(over: probe)
            let error = await Self.error { _ = try await connection.send(.lawful()) }
            try expectSame(error, as: thrown.state ?? VendorError(number: 0))
        }
        try await subject.each(subject.activePaths) { path in
            for number in 1...4 {
                let failure = VendorError(number: number)
                let thrown = Monitor(false)
                let forwarded = Monitor(0)
                let provoked = try await path.provoke(subject) { _, _, outcome in
                    guard forwarded.increment() == number else { return try outcome.get() }
                    thrown.update { $0 = true }
                    throw failure
                }
                guard thrown.state, !provoked.mayAnswer else { continue }
                try expectSame(provoked.error, as: failure)
            }
        }
    }

    /// Demands that an error while a body is read reaches its reader as the value that was thrown.
    ///
    /// The caller reads a response, and the transport a request. A body that fails never ends as if it were whole.
    public static let bodyErrors = DecoratorLaw("bodyErrors") { subject in
        try await subject.each(subject.contentPaths) { path in try await checkBrokenBodies(in: subject, on: path) }
        let failure = VendorError(number: 2)
        let met = Monitor<(any Error)?>(nil)
        let probe = Probe { request, _ in
            let error = await Self.error { _ = try await request.body.collectAll() }
            met.update { $0 = error }
            return Response(status: .ok)
        }
        let body = BodyProbe().body(chunks: 2, failure: failure)
        _ = try? await subject.connection(over: probe).send(.lawful(.post, body: body))
        try expectSame(met.state, as: failure)
    }

    private static func checkBrokenBodies(in subject: DecoratorSubject, on path: ActivePath) async throws {
        let failure = VendorError(number: 3)
        let contents = Monitor<[BodyProbe]>([])
        let provoked = try await path.provoke(subject) { request, _, outcome in
            let answer = try await outcome.get().carried(for: request.head.method, chunks: 2, failure: failure)
            contents.update { $0.append(answer.content) }
            return answer.response
        }
        var error = provoked.error
        if case .success(let response) = provoked.result {
            error = await Self.error { _ = try await response.body.collectAll() }
        }
        // The body of a response that is not returned may fail, or not be read so far.
        let isExempt = provoked.mayAnswer || contents.state.last.map { $0.state.openings == 0 } ?? true
        guard path.isOfLaws || !isExempt else { return }
        try expectSame(error, as: failure)
    }

    private static func error(of operation: () async throws -> Void) async -> (any Error)? {
        do {
            try await operation()
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

    private static func expectSame(_ error: (any Error)?, as thrown: (any Error)?) throws(ConformanceFailure) {
        try expect(
            error.isSame(as: thrown), "the error \(String(describing: thrown)), got \(String(describing: error))")
    }

    /// Demands that the length and the coding in a head describe the content that follows it.
    ///
    /// A layer that changes content takes `Content-Length` and `Content-Encoding` with it, of requests and responses
    /// (RFC 9110, sections 8.4 and 8.6), and states no length for a body whose length it does not know.
    public static let contentLengths = DecoratorLaw("contentLengths") { subject in
        try await subject.each(subject.contentPaths) { path in
            try await checkRequestLength(in: subject, on: path)
            let provoked = try await path.provoke(subject) { request, _, outcome in
                let answer = try await outcome.get().carried(
                    for: request.head.method, chunks: 3, knowingLength: true)
                var response = answer.response
                if answer.chunks > 0 { response.head.headerFields[.contentLength] = "\(response.body.length ?? 0)" }
                return response
            }
            guard let response = try await path.response(of: provoked, by: subject),
                response.head.mayHaveContent(for: path.request?.head.method ?? .get)
            else { return }
            let (head, length) = (response.head, response.body.length)
            let count = try await response.body.collectAll().data.count
            try expect(length ?? Int64(count), is: Int64(count), "length")
            try expect(head.headerFields[.contentLength] ?? "\(count)", is: "\(count)", "Content-Length")
            guard subject.mayChange(.responseContent, on: path), let coding = head.headerFields[.contentEncoding]
            else { return }
            // The coding of the base's content must not stand at another content.
            let answer = try path.answer(path.request().head, 1)
            let isSame = answer.head.headerFields[.contentEncoding] != coding || answer.body.length == Int64(count)
            try expect(isSame, "another Content-Encoding than \(coding)")
        }
    }

    private static func checkRequestLength(in subject: DecoratorSubject, on path: ActivePath) async throws {
        let body = BodyProbe(path.requestContent).body(chunks: 3, knowingLength: true, replay: .fromStart)
        var request = try path.request(.put, body: body)
        request.head.headerFields[.contentLength] = "\(body.length ?? 0)"
        _ = try await path.sendings(of: subject, with: request, includingOwn: true) { request in
            let count = try await request.body.collectAll().data.count
            let told = request.head.headerFields[.contentLength]
            try expect(told ?? "\(count)", is: "\(count)", "Content-Length of the request")
        }
    }

    /// Demands that a response without content stays as it is.
    ///
    /// The answer to a `HEAD`, a `204` and a `304` have none (RFC 9110, section 6.4.1), although their fields may speak of
    /// some. A layer that decodes, parses or replaces content leaves them alone.
    public static let emptyResponses = DecoratorLaw("emptyResponses") { subject in
        let fields: HTTPFields = [
            .contentType: "application/json", .contentLength: "5000", .contentEncoding: "gzip",
        ]
        var exchanges: [(method: HTTPRequest.Method, head: HTTPResponse)] = [
            (.head, HTTPResponse(status: .ok, headerFields: fields)), (.get, HTTPResponse(status: .noContent)),
            (.get, HTTPResponse(status: .notModified, headerFields: [.eTag: #""1""#])),
        ]
        for path in subject.activePaths where path.calls == 1 && path.request == nil {
            guard let head = try? path.answer(path.request().head, 1).head, head.status.kind == .successful else {
                continue
            }
            exchanges.append((.head, head))
        }
        for (method, head) in exchanges {
            let response = try await subject.connection(over: Probe { _, _ in Response(head: head) })
                .send(.lawful(method))
            try expect(response.head, is: head, "head for \(method)")
            try expect(try await response.text(), is: "", "content for \(method)")
        }
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

private enum VendorMetadataKey: ResponseMetadataKey {
    static let defaultValue = 0
}

private enum TransferNumberKey: ResponseMetadataKey {
    static let defaultValue: Int? = nil
}
