import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import DecorumTransfers

/// Handles of any work, and of calls.
@Suite(.timeLimit(.minutes(3))) struct TransferTests {
    private let clock = VirtualClock()
    private let spawner = TrackingSpawner()
    private let gate = Gate()
    private let request: Request

    init() throws { request = try .get("https://example.com/film") }

    /// A transfer whose first run leads to a state, and whose later ones wait at the gate; its length is 1 where it is afresh.
    private func transfer(in state: TransferState) async throws -> Transfer<Int> {
        let transfer = Transfer(clock: clock, spawner: spawner) { [gate] run in
            run.begin(at: 0, of: run.isAfresh ? 1 : 2)
            let end = run.number == 1 ? state : .running
            if end == .failed { throw TransportError(.connectionLost, at: .body) }
            if end == .waiting { run.wait(for: "the network") }
            if end != .finished { try await gate.wait() }
            return run.number
        }
        guard state != .ready else { return transfer }
        transfer.start()
        try await yield { transfer.progress.attempts == 1 }
        if state == .paused { transfer.pause() }
        if state == .cancelled { transfer.cancel() }
        try await yield { transfer.state == state }
        return transfer
    }

    private func call(_ connection: some Connection, in calls: CallSet? = nil) -> Transfer<Response> {
        connection.call(request, in: calls, clock: clock, spawner: spawner)
    }

    /// An origin whose bodies give their first chunk at once, and each further one when the gate admits it.
    private func origin(_ chunks: String..., length: Int64? = nil) -> StubConnection {
        StubConnection { [gate] _ in
            let body = Body(length: length, replay: .once) { _ in
                GatedReader(chunks: chunks.map { Data($0.utf8) }, gate: gate)
            }
            return Response(status: .ok, body: body.typed(as: "text/plain"))
        }
    }

    /// The state after a start, a pause, a resumption, a restart and a cancellation.
    @Test(
        arguments: [
            (.ready, [.running, .paused, .ready, .running, .cancelled]),
            (.running, [.running, .paused, .running, .running, .cancelled]),
            (.waiting, [.waiting, .paused, .waiting, .running, .cancelled]),
            (.paused, [.running, .paused, .running, .running, .cancelled]),
            (.finished, [.finished, .finished, .finished, .running, .finished]),
            (.failed, [.running, .failed, .failed, .running, .cancelled]),
            (.cancelled, [.cancelled, .cancelled, .cancelled, .running, .cancelled]),
        ] as [(TransferState, [TransferState])])
    func `A command has an effect in its states alone`(state: TransferState, ends: [TransferState]) async throws {
        let commands: [(Transfer<Int>) -> Void] = [
            { $0.start() }, { $0.pause() }, { $0.resume() }, { $0.restart() }, { $0.cancel() },
        ]
        for (number, end) in ends.enumerated() {
            let transfer = try await transfer(in: state)
            let before = transfer.progress.attempts
            commands[number](transfer)
            #expect(transfer.state == end, "command \(number) in \(state)")
            let isNew = end == .running && (state != .running || number == 3)
            try await yield { transfer.progress.attempts == before + (isNew ? 1 : 0) }
            if isNew { #expect(transfer.progress.length == (number == 3 ? 1 : 2)) }
        }
    }

    @Test func `An earlier run has ended before the next one begins, and its result is too late`() async throws {
        let gates = [Gate(), Gate()]
        let transfer = Transfer<Int>(clock: clock, spawner: spawner) { run in
            // It does not heed its cancellation.
            await Task { try? await gates[run.number - 1].wait() }.value
            return run.number
        }
        transfer.start()
        try await gates[0].waitForWaiting(1)
        transfer.restart()
        for _ in 0..<1000 { await Task.yield() }
        #expect(gates[1].waitingCount == 0)
        gates[0].open()
        try await gates[1].waitForWaiting(1)
        #expect(transfer.state == .running)
        // A run that succeeds during a pause has its result.
        transfer.pause()
        let stop = Task { await transfer.stopped() }
        for _ in 0..<1000 { await Task.yield() }
        #expect(transfer.state == .paused)
        gates[1].open()
        await stop.value
        #expect(try await transfer.value == 2 && transfer.state == .finished)
    }

    @Test func `A restart that is paused before its first attempt still begins anew`() async throws {
        let transfer = try await transfer(in: .running)
        transfer.restart()
        transfer.pause()
        try await spawner.finished()
        for (length, attempts) in [(1, 2), (2, 3)] as [(Int64, Int)] {
            transfer.resume()
            try await yield { transfer.progress.attempts == attempts }
            #expect(transfer.progress.length == length)
            transfer.pause()
        }
    }

    @Test func `A transfer that nobody holds is cancelled, unless its progress is read`() async throws {
        var transfer: Transfer<Int>? = try await transfer(in: .running)
        var updates = transfer?.progressUpdates().makeAsyncIterator()
        transfer = nil
        #expect(await updates?.next()?.state == .running && spawner.runningCount == 1)
        updates = nil
        try await spawner.finished()
    }

    @Test func `Progress is told at most ten times a second, with the rate and the time left`() {
        let meter = TransferMeter(clock: clock)
        var progress: TransferProgress { meter.updates.value }
        meter.begin(1, afresh: true)
        let run = TransferRun(number: 1, isAfresh: true, meter: meter)
        run.begin(at: 500, of: 10_000)
        var told: Set<Int64> = []
        for _ in 0..<300 {
            clock.advance(by: .milliseconds(10))
            run.add(10)
            told.insert(progress.bytes)
        }
        #expect(told.count == 31 && told.max() == 3500)
        #expect(progress.rate.map { abs($0 - 1000) < 1 } == true && progress.fraction == 0.35)
        #expect(progress.timeLeft.map { abs($0 / .seconds(1) - 6.5) < 0.1 } == true)

        // One of several ranges waits, and another moves.
        run.wait(for: "another attempt")
        #expect(progress.state == .waiting && progress.rate == nil)
        clock.advance(by: .milliseconds(200))
        run.add(0)
        #expect(progress.state == .running && progress.waitsFor == nil)
        // A stop tells all bytes, and what an earlier run tells is too late.
        run.add(3)
        meter.begin(2, afresh: false)
        run.add(1000)
        run.begin(at: 0, of: 1)
        meter.stop(as: .paused)
        #expect(progress.bytes == 3503 && progress.state == .paused && progress.rate == nil && progress.attempts == 1)
    }

    @Test func `M26, M67: A call tells its bytes, and has the content and the priority`() async throws {
        let origin = origin("one", "two", length: 6)
        let call = call(origin)
        call.priority = .high
        call.start()
        try await gate.waitForWaiting(1)
        call.pause()
        #expect(call.progress.bytes == 3 && call.progress.length == 6 && call.progress.fraction == 0.5)
        gate.open()
        call.resume()
        let response = try await call.value
        #expect(response.body.bytes == Data("onetwo".utf8) && response.body.mediaType == "text/plain")
        #expect(origin.requests.map(\.options.priority) == [.high, .high])
    }

    @Test func `M27: A call is cancelled at each stage with CancellationError, and tells its reason`() async throws {
        let silent = StubConnection { [gate] _ in
            try await gate.wait()
            return Response(status: .ok)
        }
        let calls = [call(origin()), call(silent), call(origin("one", "two"))]
        for call in calls.dropFirst() { call.start() }
        try await gate.waitForWaiting(2)
        // A caller who is cancelled leaves, and the call goes on.
        let caller = Task { try await calls[1].value }
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        #expect(calls[1].state == .running)
        for call in calls {
            call.cancel("left")
            #expect(call.state == .cancelled && call.cancellationReason == "left")
            await #expect(throws: CancellationError.self) { try await call.value }
        }
        try await spawner.finished()
        gate.open()
        calls[1].restart()
        #expect(calls[1].cancellationReason == nil)
        #expect(try await calls[1].value.status == .ok)
    }

    @Test func `M28: All calls of a set, or of a user, are cancelled together`() async throws {
        let calls = CallSet(for: Principal("ann"))
        let call = call(origin(), in: calls)
        // Many that are dropped take no others with them.
        for _ in 0..<100 { _ = self.call(origin(), in: calls) }
        var request = request
        request.options.principal = Principal("bob")
        let ofBob = origin().call(request, in: calls)
        // The stack may name the user.
        let acting = origin().acting(for: Principal("bob"))
        let others = [self.call(acting, in: calls), self.call(acting.acting(for: Principal("cid")), in: calls)]
        let download = acting.downloading(self.request, to: DownloadFolder().file)
        let upload = acting.uploading(Body("content"), to: self.request)
        calls.insert(download)
        calls.insert(upload)
        try await calls.signOut(Principal("bob"))
        #expect(call.state == .ready && ofBob.state == .cancelled)
        #expect(others.map(\.state) == [.cancelled, .ready])
        #expect(download.state == .cancelled && upload.state == .cancelled)
        #expect(ofBob.cancellationReason == "the user has signed out")
        calls.cancelAll("the page was left")
        #expect(call.state == .cancelled && call.cancellationReason == "the page was left")
    }

    @Test func `M65, M66, M72: Content is held, read, dropped, or in a file after a break`() async throws {
        let (folder, content) = (DownloadFolder(), Data("onetwo".utf8))
        let stub = StubConnection(serving: ServedContent(content))
        #expect(try await stub.call(request).value.body.bytes == content)
        for try await chunk in try await stub.send(request).body { #expect(chunk == content) }
        try await stub.send(request).body.discard()
        // By default, a call does not hold as much as this.
        let error = await #expect(throws: BodyLimitError.self) { try await call(origin(length: 1 << 30)).value }
        #expect(error?.limit == 16 << 20)
        let download = stub.cutting(after: [3]).downloading(request, to: folder.file, clock: ImpatientClock())
        #expect(try await download.value.restarts.isEmpty && folder.content == content)
        #expect(stub.requests.last?.head.headerFields[.range] == "bytes=3-")
    }

    @Test func `The texts of the errors of transfers match the golden file`() async throws {
        var texts = ErrorTexts("Transfers")
        let downloads: [DownloadError.Reason] = [
            .unsuitableRequest, .fileExists, .unsafeName, .inUse, .wrongDigest, .tooManyRestarts, .fullDisk, .system(5),
        ]
        let uploads: [UploadError.Reason] = [
            .contentReadOnce, .contentChanged, .invalidAnswer, .foreignOrigin(try Origin("https://a.example")), .gone,
            .outcomeUnknown, .sizeRefused, .damagedRecord,
        ]
        let kept: [OutboxError.Reason] = [
            .safeMethod, .secret("The field X-Key"), .full, .otherPrincipal, .signedOut, .missing("url"),
            .setAside(URL(filePath: "/s3cret")),
        ]
        let errors: [any DescribableError] =
            downloads.map(DownloadError.init(_:)) + uploads.map(UploadError.init(_:)) + kept.map(OutboxError.init(_:))
        for error in errors { await texts.add("\(type(of: error)), \(error.shortDescription)") { throw error } }
        try texts.check()
    }
}
