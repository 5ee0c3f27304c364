import Decorum
import DecorumTestSupport
import DecorumTesting
import Testing

@Suite(.timeLimit(.minutes(Footprint.isSoak ? 30 : 3))) struct UpdatesTests {
    /// A cancellation holds the task of a reader while the stream ends, and a change resumes that task within its lock.
    @Test func `Readers may be cancelled while a value changes`() async {
        for _ in 0..<(Footprint.isSoak ? 10_000 : 50) {
            let updates = Updates(0)
            let readers = (0..<50).map { _ in Task { for await _ in updates.stream() {} } }
            for _ in 0..<100 { await Task.yield() }
            let hasBegun = Monitor(false)
            let writer = Task {
                hasBegun.update { $0 = true }
                for _ in 0..<20 { updates.update { $0 += 1 } }
            }
            while !hasBegun.state { await Task.yield() }
            for reader in readers { reader.cancel() }
            await writer.value
            for reader in readers { await reader.value }
            #expect(updates.value == 20)
        }
    }

    @Test func `A reader gets the value, each other one, and the last`() async {
        let updates = Updates(1) { $0 == 3 }
        var (all, later) = (updates.stream().makeAsyncIterator(), updates.stream(ofLaterOnes: true).makeAsyncIterator())
        #expect(await all.next() == 1)
        updates.update { $0 = 1 }
        updates.update { $0 = 2 }
        #expect(await all.next() == 2)
        updates.update { $0 = 3 }
        #expect(await all.next() == 3)
        #expect(await all.next() == nil)
        #expect(await later.next() == 3)
        #expect(await later.next() == nil)
    }

    @Test func `Readers end with the value`() async {
        var updates: Updates<Int>? = Updates(1)
        let stream = updates?.stream()
        updates = nil
        if let stream { for await number in stream { #expect(number == 1) } }
    }
}
