import DecorumEndpoints
import DecorumTesting
import Foundation
import Synchronization
import Testing

@Suite struct TransferProgressTests {
    /// Gets reports, and lets time pass at each chunk.
    final class Log: Sendable {
        private let reports = Mutex<[TransferProgress]>([])
        var all: [TransferProgress] { reports.withLock { $0 } }
        func add(_ progress: TransferProgress) { reports.withLock { $0.append(progress) } }
    }

    struct SlowReader: BodyReader {
        let clock: VirtualClock
        var chunks: Int

        mutating func next() async throws -> Data? {
            guard chunks > 0 else { return nil }
            chunks -= 1
            clock.advance(by: .milliseconds(40))
            return Data(count: 1000)
        }

        var trailers: HTTPFields? { [.server: "x"] }
    }

    @Test func `Reports come in intervals, with the rate and the time left`() async throws {
        let clock = VirtualClock()
        let log = Log()
        let body = Body(length: 10_000, replay: .once) { _ in SlowReader(clock: clock, chunks: 10) }
            .reportingProgress(clock: clock) { log.add($0) }
        let (data, trailers) = try await body.collect(upTo: 1 << 20)
        #expect(data.count == 10_000)
        #expect(trailers == [.server: "x"])
        #expect(log.all.map(\.bytes) == [0, 3000, 6000, 9000, 10_000])
        #expect(log.all.map(\.isFinished) == [false, false, false, false, true])
        #expect(log.all.map(\.fraction) == [0, 0.3, 0.6, 0.9, 1])
        let second = log.all[1]
        #expect(second.elapsed == .milliseconds(120))
        #expect(abs((second.rate ?? 0) - 25_000) < 1)
        let timeLeft = try #require(second.timeLeft) / .seconds(1)
        #expect(abs(timeLeft - 0.28) < 0.001)
        #expect(log.all.last?.timeLeft == .zero)
    }

    @Test func `A total that is not known is known at the end`() async throws {
        let clock = VirtualClock()
        let log = Log()
        let body = Body(length: nil, replay: .once) { _ in SlowReader(clock: clock, chunks: 4) }
            .reportingProgress(every: .milliseconds(80), clock: clock) { log.add($0) }
        _ = try await body.data(upTo: 1 << 20)
        #expect(log.all.map(\.total) == [nil, nil, nil, 4000])
        #expect(log.all.map(\.fraction) == [nil, nil, nil, 1])
        #expect(log.all.map(\.bytes) == [0, 2000, 4000, 4000])
    }

    @Test func `Content in memory is reported in steps`() async throws {
        let log = Log()
        let content = Data(repeating: 1, count: 200 << 10)
        let body = Body(content).typed(as: "image/png").reportingProgress(every: .zero, clock: VirtualClock()) {
            log.add($0)
        }
        #expect(body.mediaType == "image/png")
        #expect(body.replay == .fromAnyOffset)
        #expect(try await body.data(upTo: 1 << 20) == content)
        #expect(log.all.map(\.bytes) == [0, 65_536, 131_072, 196_608, 204_800, 204_800])
        #expect(try await body.data(upTo: 1 << 20) == content)
        #expect(log.all.count == 12 && log.all[6].bytes == 0)
    }

    @Test func `Empty content is finished`() async throws {
        let log = Log()
        _ = try await Body(Data()).reportingProgress(clock: VirtualClock()) { log.add($0) }.data(upTo: 1)
        #expect(log.all.map(\.fraction) == [0, 1])
    }

    @Test func `A failure has no report of an end`() async throws {
        let clock = VirtualClock()
        let log = Log()
        let body = Body(length: 5000, replay: .once) { _ in SlowReader(clock: clock, chunks: 3) }
            .reportingProgress(every: .zero, clock: clock) { log.add($0) }
        await #expect(throws: BodyLengthError.self) { try await body.data(upTo: 1 << 20) }
        #expect(log.all.map(\.isFinished) == [false, false, false, false])
    }

    @Test @MainActor func `The main actor can get the reports`() async throws {
        var fractions: [Double?] = []
        let body = Body(Data(count: 100)).reportingProgress(every: .zero, clock: VirtualClock()) {
            @MainActor progress in
            fractions.append(progress.fraction)
        }
        _ = try await body.data(upTo: 1 << 10)
        #expect(fractions == [0, 1, 1])
    }

    @Test func `Any numbers give a time or none`() {
        let far = TransferProgress(bytes: .min, total: .max, elapsed: Duration(attoseconds: .max), rate: 1)
        #expect(far.timeLeft == nil)
        #expect(TransferProgress(bytes: .max, total: .min, rate: .infinity).timeLeft == .zero)
        #expect(TransferProgress(bytes: 1, total: .max, rate: 1e-9).timeLeft == nil)
        #expect(TransferProgress(bytes: 1, total: 3, rate: 0).timeLeft == nil)
        #expect(TransferProgress(bytes: 5, total: 3, rate: 1).fraction == 1)
        #expect(TransferProgress(bytes: 5, total: 3, rate: 1).timeLeft == .zero)
    }
}
