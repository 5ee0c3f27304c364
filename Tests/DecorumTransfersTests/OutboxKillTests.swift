#if os(macOS) || os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import DecorumTransfers
import Foundation
import Testing

extension ProcessTests {
    /// Processes with an outbox that are killed.
    @Suite(.timeLimit(.minutes(60))) struct OutboxKillTests {
        /// The contents of twenty writes; each fourth one is longer than two chunks.
        static let texts = (0..<20).map { String(repeating: "note \($0) ", count: $0 % 4 == 3 ? 70_000 : 1) }

        @Test func `Each write that was accepted before a kill arrives once, in order and bit for bit`() async throws {
            var interrupted = 0
            for seed in 0..<UInt64(Footprint.isSoak ? 100 : 4) {
                let (space, server, origin) = (DownloadFolder(), KeyedServer(), try LoopbackOrigin())
                defer { origin.stop() }
                origin.route(.post, "/notes") { request in
                    try server.execute(request.text, key: request.fields["Idempotency-Key"])
                    return .init(.created)
                }
                let (path, url, outbox) = (space.url.path, origin.url, SystemConnection().outbox(in: space.outbox))
                // The first other process adds to what this one sends.
                if seed == 0 { outbox.start() }
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    [path = path as String, url = url as String, seed = seed as UInt64] in
                    ProcessTests.begin()
                    let outbox = SystemConnection().outbox(
                        in: URL(filePath: path).appending(path: "outbox", directoryHint: .notDirectory))
                    outbox.start()
                    Thread.detachNewThread {
                        usleep(UInt32(SeededGenerator(seed: seed).uniform() * 400_000))
                        kill(getpid(), SIGKILL)
                    }
                    let log = unsafe open(path + "/accepted", O_WRONLY | O_CREAT | O_APPEND, 0o600)
                    for (number, text) in Self.texts.enumerated() {
                        try await outbox.add(.post(url + "/notes", body: Body(text)), lane: "\(number % 3)")
                        let line = Array("\(number)\n".utf8)
                        _ = unsafe write(log, line, line.count)
                    }
                    while true { try await SystemClock().sleep(for: .seconds(1)) }
                }
                let log = try? String(contentsOfFile: path + "/accepted", encoding: .utf8)
                let accepted = (log ?? "").split(separator: "\n").compactMap { Int($0) }
                if server.executed.count < 20 { interrupted += 1 }
                outbox.start()
                if try await !outbox.entries().isEmpty { _ = await outbox.updates().ended }
                await outbox.stop()
                #expect(try await outbox.asideFiles().isEmpty)
                let numbers = server.executed.compactMap(Self.texts.firstIndex)
                #expect(numbers.count == server.executed.count && Set(numbers).count == numbers.count, "seed \(seed)")
                #expect(Set(accepted).isSubset(of: numbers), "seed \(seed)")
                for lane in 0..<3 {
                    let ofLane = numbers.filter { $0 % 3 == lane }
                    #expect(ofLane == ofLane.sorted(), "seed \(seed)")
                }
            }
            #expect(interrupted > 50 || !Footprint.isSoak)
        }
    }
}
#endif
