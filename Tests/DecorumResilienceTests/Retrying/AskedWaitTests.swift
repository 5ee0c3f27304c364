import DecorumTesting
import Testing

@testable import Decorum

/// The waits of clients that a server has given one date.
@Suite struct AskedWaitTests {
    @Test(arguments: [(0, 1), (1, 2), (2, 3), (10, 15), (40, 60), (60, 80), (3600, 3620)])
    func `No client comes earlier than asked, or later than half of it or 20 seconds`(asked: Int, latest: Int) {
        #expect(AskedWait.spread(.seconds(asked)) == .seconds(asked) ... .seconds(latest))
    }

    // Clients do not know of each other, so a second may get more than its part by chance. Within 20 seconds, at least
    // one gets 5 % or more, however the clients choose.
    @Test(arguments: [(40, 0.05), (60, 0.05), (3600, 0.05), (20, 0.1), (2, 1)])
    func `Of clients with one date each second gets its part and no more, but for chance`(
        asked: Int, part: Double
    ) {
        let generator = SeededGenerator(seed: 7)
        let (dates, clients) = (200, 1000)
        var all: [Int64: Int] = [:]
        var largest = 0
        for _ in 0..<dates {
            var counts: [Int64: Int] = [:]
            for _ in 0..<clients {
                let wait = AskedWait.spread(.seconds(asked)).random(using: generator)
                counts[wait.components.seconds, default: 0] += 1
            }
            all.merge(counts, uniquingKeysWith: +)
            largest = max(largest, counts.values.max() ?? 0)
        }
        #expect(all.count == Int((1 / part).rounded()))
        #expect(all.values.allSatisfy { Double($0) <= part * 1.03 * Double(dates * clients) })
        #expect(Double(largest) <= (part + 5 * (part * (1 - part) / Double(clients)).squareRoot()) * Double(clients))
    }
}
