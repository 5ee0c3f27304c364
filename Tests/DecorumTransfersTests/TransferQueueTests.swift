import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTransfers

@Suite(.timeLimit(.minutes(3))) struct TransferQueueTests {
    private static let content = BytePattern.bytes(100_000)

    private let space = DownloadFolder()
    private let clock = VirtualClock()
    private let gate = Gate()
    private let stub = StubConnection(serving: ServedContent(content, fields: [.eTag: #""a""#]))

    private func queue(
        _ connection: any Connection, for principal: Principal? = nil, limit: Int = 3,
        network: (any NetworkMonitor)? = nil, url: (@Sendable (OutboxEntry) async throws -> URL)? = nil
    ) -> TransferQueue {
        connection.transferQueue(
            in: space.outbox, for: principal, limit: limit, network: network, clock: clock,
            generator: SeededGenerator(seed: 1), url: url)
    }

    private func file(_ name: String) -> URL { space.url.appending(path: name) }
    private func request(_ name: String) throws -> Request { try .get("https://example.com/\(name)") }
    private func hasArrived(_ name: String) -> Bool { (try? Data(contentsOf: file(name))) == Self.content }

    /// The names of all files that are not in the folder of the queue.
    private var names: [String] { space.names.filter { $0 != "outbox" } }

    /// The server, which holds each body back after its first bytes until the gate admits the rest.
    private var slow: any Connection {
        stub.intercepting { [gate] request, base in
            var response = try await base.send(request)
            let data = try await response.body.data(upTo: 1 << 20)
            response.body = Body(length: Int64(data.count), replay: .once) { _ in
                GatedReader(chunks: [data.prefix(1000), data.dropFirst(1000)], gate: gate)
            }
            return response
        }
    }

    @Test func `As many as the limit run at a time, by priority, and all together have a progress`() async throws {
        let queue = queue(slow, limit: 2)
        await #expect(throws: DownloadError(.unsuitableRequest)) {
            try await queue.addDownload(.post("https://example.com/"), to: file("a"))
        }
        for (name, priority) in [("a", TaskPriority.low), ("b", .medium), ("c", .high), ("d", .medium)] {
            try await queue.addDownload(request(name), to: file(name), priority: priority)
        }
        #expect(try await queue.transfers().allSatisfy { $0.progress.waitsFor == "the start" })
        queue.start()
        try await gate.waitForWaiting(2)
        #expect(Set(stub.requests.compactMap(\.head.path)) == ["/b", "/c"])
        #expect(stub.requests.first { $0.head.path == "/c" }?.options.priority == .high)
        await queue.until { $0.map(\.progress.waitsFor) == ["its turn", nil, nil, "its turn"] }
        // Two further chunks, and one of two ends.
        gate.admit(3)
        try await yield { stub.requests.count == 3 }
        #expect(stub.requests[2].head.path == "/d")
        gate.open()
        var transfers = await queue.updates().ended
        let progress = transfers.progress
        #expect(progress.state == .finished && progress.fraction == 1 && progress.bytes == 400_000)
        // A server may tell any length.
        for index in transfers.indices { transfers[index].progress.length = .max }
        #expect(transfers.progress.length == .max)
        #expect(["a", "b", "c", "d"].allSatisfy(hasArrived))
        #expect(space.files.count == 4 && space.files.allSatisfy { $0.hasSuffix(".end") })
    }

    @Test func `One queue at a time transfers, others may steer it, one takes over, and a sign-out removes parts`()
        async throws
    {
        let ann = Principal("ann")
        var dropped: TransferQueue? = queue(slow, for: ann)
        let second = queue(slow, for: ann)
        var ids: [OutboxEntry.ID] = []
        do {
            let first = try #require(dropped)
            first.start()
            for name in ["a", "b", "c"] { ids.append(try await first.addDownload(request(name), to: file(name))) }
            try await gate.waitForWaiting(3)
            try await first.pause(ids[0])
            #expect(try await first.transfers().map(\.state) == [.paused, .running, .running])
        }
        try await yield { gate.waitingCount == 2 }
        second.start()
        try await second.pause(ids[1])
        #expect(try await second.cancel(ids[2]))
        // The one that transfers learns it from the disk, and removes what has arrived of the cancelled one.
        try await advance(clock) { gate.waitingCount == 0 && names.count == 4 }
        #expect(try await second.transfers().map(\.state) == [.paused, .paused, .cancelled])
        #expect(stub.requests.count == 3)
        dropped = nil

        try await second.resume(ids[0])
        gate.admit(2)
        try await advance(clock) { hasArrived("a") }
        await second.until { $0.map(\.state) == [.finished, .paused, .cancelled] }
        #expect(stub.requests.last?.head.headerFields[.range] == "bytes=1000-")
        try await second.resume(ids[1])
        try await gate.waitForWaiting(1)
        #expect(names == [".b.part", ".b.part.json", "a"])
        try await second.signOut(ann)
        #expect(names == ["a"] && space.files.isEmpty && gate.waitingCount == 0)
    }

    @Test func `A transfer waits for a network that suits, and after a failure that does not pass, for a resume`()
        async throws
    {
        let (network, number) = (SettableNetwork(NetworkState(isExpensive: true)), Numbers())
        let failing = slow.intercepting { request, base in
            switch number.next() {
            case 1: Response(status: .serviceUnavailable)
            case 2: Response(status: .notFound)
            default: try await base.send(request)
            }
        }
        let queue = queue(failing, network: network)
        queue.start()
        let id = try await queue.addDownload(request("film"), to: file("film"), on: .inexpensive)
        await queue.until { $0.first?.progress.waitsFor == "a network that is not expensive" }
        network.set(.reachable)
        try await advance(clock) { try await queue.transfers().first?.failure?.contains("404") == true }
        await queue.until { $0.first?.state == .failed }
        try await queue.resume(id)
        try await gate.waitForWaiting(1)
        network.set(.unreachable)
        await queue.until { $0.first?.state == .waiting && $0.first?.progress.waitsFor == "the network" }
        try await yield { gate.waitingCount == 0 }
        gate.open()
        network.set(.reachable)
        await queue.until { $0.first?.state == .finished }
        #expect(stub.requests.map { $0.head.headerFields[.range] } == [nil, "bytes=1000-"] && hasArrived("film"))
    }

    @Test func `A signed upload goes on under another signature, and leaves nothing beside the file`() async throws {
        let (server, number, bytes) = (UploadServer(), Numbers(), BytePattern.bytes(400_000))
        for name in ["a", "b"] { try bytes.write(to: file(name)) }
        let target = "https://example.com/files?token="
        let queue = queue(server) { _ in try #require(URL(string: target + "s\(number.next())")) }
        server.lie { [.patch, .head].contains($0.head.method) ? Response(status: .forbidden) : nil }
        queue.start()
        var ids: [OutboxEntry.ID] = []
        for name in ["a", "b"] { ids.append(try await queue.addUpload(of: file(name), to: .post(target + "s0"))) }
        await queue.until { $0.allSatisfy { $0.failure?.contains("403") == true } }
        #expect(names.count == 4 && server.creations == 2)
        try await queue.cancel(ids[1])
        server.lie { _ in nil }
        try await queue.resume(ids[0])
        await queue.until { $0.map(\.state) == [.finished, .cancelled] }
        #expect(server.contents.contains(bytes) && server.creations == 2 && names == ["a", "b"])
    }
}

extension TransferQueue {
    /// Waits until the transfers are in a state.
    fileprivate func until(_ condition: ([OutboxEntry]) -> Bool) async {
        for await transfers in updates() where condition(transfers) { return }
    }
}
