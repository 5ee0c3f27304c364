import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTransfers

@Suite(.timeLimit(.minutes(3))) struct OutboxTests {
    private let space = DownloadFolder()
    private let server = KeyedServer()
    private let clock = VirtualClock()
    private let gate = Gate()

    private func outbox(
        _ connection: any Connection, for principal: Principal? = nil, limits: OutboxLimits = OutboxLimits(),
        network: (any NetworkMonitor)? = nil, clock: VirtualClock? = nil,
        url: (@Sendable (OutboxEntry) async throws -> URL)? = nil
    ) -> Outbox {
        connection.outbox(
            in: space.outbox, for: principal, limits: limits, network: network, clock: clock ?? self.clock,
            generator: SeededGenerator(seed: 1), url: url)
    }

    /// A server that answers once the gate is open, whether anybody waits for it or not, and breaks its answers off.
    private var waiting: StubConnection {
        StubConnection { [gate] _ in
            try? await gate.wait()
            let broken = AsyncThrowingStream<Data, any Error> { chunks in
                chunks.yield(Data("half".utf8))
                chunks.finish(throwing: TransportError(.connectionLost, at: .body))
            }
            return Response(status: .ok, body: Body(chunks: broken))
        }
    }

    @Test func `A write is kept without credentials, and sent by a later process with the same key, signed anew`()
        async throws
    {
        let (user, asked) = (Principal("user-1"), Numbers())
        let asking: @Sendable (OutboxEntry) async throws -> URL = { entry in
            #expect(entry.url == "https://example.com/a?X-Amz-Signature=REDACTED&ticket=REDACTED")
            return try #require(URL(string: "https://example.com/a?X-Amz-Signature=n&ticket=\(asked.next())"))
        }
        let stuck = StubConnection { [gate] _ in
            try await gate.wait()
            return Response(status: .ok)
        }
        var dropped: Outbox? = outbox(stuck, for: user, url: asking)
        let secret = try #require(HTTPField.Name("X-Device"))
        var request = try Request.put(
            "https://example.com/a?X-Amz-Signature=pl4nted&ticket=pl4nted", fields: [.accept: "text/*"], body: "one")
        for name in [.authorization, .cookie, secret] { request.head.headerFields[name] = "a=pl4nted" }
        (request.options.secretFields, request.options.secretQueryItems) = ([secret], ["ticket"])
        request.options.routeName = "notes"
        let id = try #require(try await dropped?.add(request))
        try await dropped?.add("two")
        #expect(!space.holds("pl4nted"))
        dropped?.start()
        try await gate.waitForWaiting(1)
        dropped = nil

        let stub = server.connection(
            { _ in Response(status: .serviceUnavailable) }, { _ in throw TransportError(.connectionLost, at: .head) })
        let whole = try stub.authenticating(with: .bearer("t0ken"), for: Origin("https://example.com"))
            .acting(for: user)
        let without = outbox(whole, for: user)
        without.start()
        try await advance(clock) { try await without.entries().first?.failure?.contains("Pass `url`") == true }
        await without.stop()
        let outbox = outbox(whole, for: user, url: asking)
        outbox.start()
        try await advance(clock) { try await outbox.states == [.finished, .finished] }
        // The lane has kept its order over failures.
        #expect(server.executed == ["one", "two"] && stub.requests.count == 4)
        let sent = stub.requests[2]
        #expect(sent.head.method == .put && sent.url?.query == "X-Amz-Signature=n&ticket=4")
        // No log and no error may show the secrets of the new URL, either.
        #expect(!sent.description.contains("ticket=4"))
        let key = try #require(stuck.requests.first?.head.headerFields[.idempotencyKey])
        let fields: HTTPFields = [
            .contentType: "text/plain; charset=utf-8", .accept: "text/*", .idempotencyKey: key,
            .authorization: "Bearer t0ken",
        ]
        #expect(sent.head.headerFields == fields)
        #expect(sent.options.principal == user && sent.options.routeName == "notes")
        let result = try #require(try await self.outbox(stub, for: user).result(of: id))
        #expect(result.response?.status == .created && result.content == Data("did one".utf8))
        #expect(space.files.count == 2 && !space.holds("t0ken"))
    }

    @Test func `A refusal comes to the app, results make room for new requests, and refusals last`() async throws {
        let problem = #"{"title": "too long", "access_token": "hunter22"}"# + String(repeating: "x", count: 70_000)
        let refusal = Response(
            status: .unprocessableContent, fields: [.contentType: "text/plain", .setCookie: "sid=s3cr3t"],
            body: Body(problem))
        let limits = OutboxLimits(count: 2, bytes: 100_000)
        let outbox = outbox(server.connection({ _ in refusal }), limits: limits)
        let id = try await outbox.add("precious")
        await #expect(throws: OutboxError(.full)) { try await outbox.add(String(repeating: "x", count: 100_000)) }
        try await outbox.add("two")
        await #expect(throws: OutboxError(.full)) { try await outbox.add("three") }
        outbox.start()
        _ = await outbox.updates().ended
        for text in ["three", "four"] {
            try await outbox.add(text)
            _ = await outbox.updates().ended
        }
        await outbox.stop()
        let later = self.outbox(server.connection(), limits: limits)
        let result = try #require(try await later.result(of: id))
        #expect(result.state == .failed && result.response?.status == .unprocessableContent)
        #expect(String(decoding: result.content, as: UTF8.self).contains("too long") && result.content.count <= 65_536)
        #expect(result.failure == "The server has answered with the status 422.")
        #expect(!space.holds("hunter22") && !space.holds("s3cr3t"))
        #expect(try await later.request(of: id)?.body.text(upTo: 100) == "precious")
        later.start()
        #expect(await soon { !clock.pendingSleeps.isEmpty })
        #expect(try await later.states == [.failed, .finished] && server.executed == ["two", "three", "four"])
    }

    @Test func `An answer that breaks off counts, also if the disk takes it later, or the outbox stops`() async throws {
        let stub = waiting
        let outbox = outbox(stub)
        try await outbox.add("one")
        outbox.start()
        try await gate.waitForWaiting(1)
        // A folder in the place of the lock makes each change fail.
        let lock = space.outbox.appending(path: "none/write.lock")
        try FileManager.default.removeItem(at: lock)
        try FileManager.default.createDirectory(at: lock, withIntermediateDirectories: false)
        gate.admit()
        #expect(await soon { outbox.error != nil })
        for _ in 0..<50 { clock.advance(by: .seconds(60)) }
        #expect(try await outbox.states == [.running])
        try FileManager.default.removeItem(at: lock)
        try await advance(clock) { try await outbox.states == [.finished] }

        let id = try await outbox.add("two")
        try await gate.waitForWaiting(1)
        await outbox.stop()
        #expect(try await outbox.states == [.finished, .finished] && stub.requests.count == 2)
        let content = try #require(try await outbox.result(of: id)).content
        #expect("half".hasPrefix(String(decoding: content, as: UTF8.self)))
    }

    @Test func `A new network ends waits, unless a server asks, and age ends a write, not a date`() async throws {
        let stub = StubConnection { request in
            guard request.head.path == "/asks" else { throw TransportError(.unreachable, at: .connecting) }
            return Response(status: .tooManyRequests, fields: [.retryAfter: "9223372036854775807"])
        }
        let (limits, network) = (OutboxLimits(age: .seconds(86_400)), SettableNetwork(.unreachable))
        let (id, clock) = (try await outbox(stub).add("one"), VirtualClock(date: .distantPast))
        let outbox = outbox(stub, limits: limits, network: network, clock: clock)
        outbox.start()
        #expect(try await outbox.states == [.waiting] && stub.requests.isEmpty)
        network.set(.reachable)
        // After six failures, the next wait is longer than 15 seconds.
        try await advance(clock, by: .seconds(20)) { stub.requests.count == 6 }
        try await advance(clock, by: .zero) { try await outbox.entries().first?.failure?.isEmpty == false }
        // The clock stands, since a server is asked again after an hour whatever it says.
        try await outbox.add(.delete("https://example.com/asks"), lane: "b")
        try await advance(clock, by: .zero) { try await outbox.entries().last?.failure?.isEmpty == false }
        network.set(NetworkState(kind: .cellular))
        try await advance(clock, by: .milliseconds(50)) { stub.requests.count == 8 }
        #expect(stub.requests.count { $0.head.path == "/asks" } == 1)
        clock.advance(by: .seconds(90_000))
        try await advance(clock) { try await outbox.states == [.failed, .failed] }
        #expect(try await outbox.result(of: id)?.failure?.contains("24 h") == true)
    }

    private static let planted: [(path: String, content: String, fields: HTTPFields)] = [
        ("/?access_token=pl4nted", "x", [:]),
        ("/", "user=me&password=pl4nted", [.contentType: "application/x-www-form-urlencoded"]),
        ("/", "pl4nted", [.contentEncoding: "br"]),
        ("/", "x", [.userAgent: "ghp_pl4nted0123456789abcdefghijklmnopqrstuv"]),
        // Text is searched as a whole.
        ("/", "pl4nted" + String(repeating: " ", count: 17 << 20), [.contentType: "text/plain"]),
    ]

    @Test(arguments: planted.indices)
    func `A request that may hold a secret is refused unless it is allowed`(row: Int) async throws {
        let (path, content, fields) = Self.planted[row]
        let outbox = outbox(server.connection())
        let body = Body(length: nil, replay: .fromStart) { _ in try await Body(Data(content.utf8)).open() }
        let request = try Request.post("https://example.com" + path, fields: fields, body: body)
        let error = await #expect(throws: OutboxError.self) { try await outbox.add(request) }
        #expect(error?.shortDescription == "secret" && error?.description.contains("pl4nted") == false)
        #expect(space.files.isEmpty)
        let id = try await outbox.add(request, allowingSecrets: true)
        #expect(try await outbox.request(of: id)?.body.length == Int64(content.utf8.count) && space.holds("pl4nted"))
    }

    @Test func `Only writes are accepted, and none is sent through the stack of another user`() async throws {
        let (stub, bob, error) = (server.connection(), Principal("bob"), OutboxError(.otherPrincipal))
        let plain = try Request.delete("https://example.com/")
        var request = plain
        request.options.principal = bob
        let ofBob = request
        await #expect(throws: OutboxError(.safeMethod)) { try await outbox(stub).add(.get("https://example.com/")) }
        // Whose credentials the second one adds is not known.
        let others: [any Connection] = [
            stub.acting(for: bob), try stub.authenticating(with: .bearer("token"), for: Origin("https://example.com")),
        ]
        for owner in [nil, Principal("ann")] {
            let right = outbox(stub, for: owner)
            try await right.add(plain)
            await #expect(throws: error) { try await right.add(ofBob) }
            for wrong in others.map({ outbox($0, for: owner) }) {
                await #expect(throws: error) { try await wrong.add(plain) }
                wrong.start()
                #expect(await soon { wrong.error as? OutboxError == error })
            }
        }
        #expect(stub.requests.isEmpty)
    }

    @Test func `A sending may sign its user out and stop the outbox, without a wait for itself`() async throws {
        let (user, ended) = (Principal("user-1"), Gate())
        let own = Mutex<Outbox?>(nil)
        let stub = StubConnection { _ in
            let outbox = own.withLock { $0 }
            try await outbox?.signOut(user)
            await outbox?.stop()
            ended.open()
            throw TransportError(.connectionLost, at: .head)
        }
        let outbox = outbox(stub, for: user)
        own.withLock { $0 = outbox }
        try await outbox.add("one")
        outbox.start()
        try await ended.wait()
        await outbox.stop()
        #expect(space.files.isEmpty && stub.requests.count == 1)
        own.withLock { $0 = nil }
    }

    @Test func `A cancelled entry ends, and a sign-out ends and removes all of the user`() async throws {
        let (user, other, added) = (Principal("user-1"), Principal("user-2"), Gate())
        // An answer that comes all the same is not kept.
        let limits = OutboxLimits(count: .max, age: .seconds(Int64.max), bytes: .max)
        let (outbox, another) = (outbox(waiting, for: user, limits: limits), outbox(server.connection(), for: other))
        try await another.add("stays")
        var ids: [OutboxEntry.ID] = []
        for text in ["one", "two", "three"] { ids.append(try await outbox.add(text)) }
        outbox.start()
        try await gate.waitForWaiting(1)
        for id in ids[..<2].reversed() {
            #expect(try await outbox.cancel(id))
            #expect(try await !outbox.cancel(id))
        }
        try await advance(clock) { try await outbox.states == [.cancelled, .cancelled, .running] }
        try await gate.waitForWaiting(1)

        let adding = [Body("four"), .empty, Body("five"), .empty].map { content in
            let body = Body(length: nil, replay: .once) { _ in
                try? await added.wait()
                return try await content.open()
            }
            return Task { try await outbox.add(.post("https://example.com/", body: body.typed(as: "image/png"))) }
        }
        try await added.waitForWaiting(4)
        #expect(space.files.count == 10)
        for task in adding[2...] {
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.joinedValue }
        }
        #expect(space.files.count == 8)
        try await outbox.signOut(user)
        added.open()
        for task in adding[..<2] { await #expect(throws: OutboxError(.signedOut)) { try await task.joinedValue } }
        #expect(gate.waitingCount == 0)
        #expect(try await outbox.entries().isEmpty && space.files.count == 2)
        #expect(try await another.states == [.waiting])
        // Another outbox can remove them too.
        try await outbox.signOut(other)
        #expect(space.files.isEmpty)
    }
}

extension DownloadFolder {
    /// The folder of an outbox or a queue, which creates it.
    var outbox: URL { url.appending(path: "outbox", directoryHint: .notDirectory) }

    /// The paths of all files below the folder of the outbox, but for the locks.
    var files: [String] {
        let paths = try? FileManager.default.subpathsOfDirectory(atPath: outbox.path)
        return (paths ?? []).filter { !$0.hasSuffix(".lock") && $0.contains("/") }.sorted()
    }

    /// Whether one of the files has a text in it.
    func holds(_ text: String) -> Bool {
        files.contains { (try? Data(contentsOf: outbox.appending(path: $0)))?.range(of: Data(text.utf8)) != nil }
    }
}

/// A server that knows idempotency keys: it carries out each key once, and repeats its answer.
final class KeyedServer: Sendable {
    private let state = Mutex<(texts: [String: String], order: [String])>(([:], []))

    /// The contents that were carried out, in order.
    var executed: [String] { state.withLock { $0.order } }

    func execute(_ text: String, key: String?) throws {
        guard let key else { throw CocoaError(.coderValueNotFound) }
        try state.withLock { state in
            guard let known = state.texts.updateValue(text, forKey: key) else { return state.order.append(text) }
            // A key that is used for another content is a mistake of the client.
            guard known == text else { throw CocoaError(.coderInvalidValue) }
        }
    }

    /// A connection to the server, which at first gives other answers.
    func connection(_ answers: StubConnection.Answer...) -> StubConnection {
        StubConnection(answers: answers) { [self] request in
            let text = try await request.body.text(upTo: 1 << 20)
            try execute(text, key: request.head.headerFields[.idempotencyKey])
            return Response(status: .created, body: Body("did " + text))
        }
    }
}

/// Moves a clock whenever something waits, until a condition holds.
func advance(
    _ clock: VirtualClock, by step: Duration = .seconds(5), until condition: () async throws -> Bool
) async throws {
    while try await !condition() {
        try Task.checkCancellation()
        clock.advance(by: step)
        for _ in 0..<20 { await Task.yield() }
    }
}

extension Outbox {
    var states: [TransferState] { get async throws { try await entries().map(\.state) } }

    /// Adds a text.
    @discardableResult func add(_ text: String, lane: String? = nil) async throws -> OutboxEntry.ID {
        try await add(.post("https://example.com/notes", body: Body(text)), lane: lane)
    }
}

extension AsyncStream<[OutboxEntry]> {
    /// The entries, once all of them have ended.
    var ended: [OutboxEntry] { get async { await first { !$0.isEmpty && $0.allSatisfy(\.state.isOver) } ?? [] } }
}
