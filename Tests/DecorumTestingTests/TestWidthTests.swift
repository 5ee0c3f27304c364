#if compiler(>=6.3)
import Synchronization
import Testing

/// The bound that `DecorumTestWidth` sets, which the library reads since Swift 6.3.
@Suite struct TestWidthTests {
    private static let running = Mutex(0)

    @Test(arguments: 0..<40) func `At most eight tests run at a time`(number: Int) async {
        let count = Self.running.withLock { running in
            running += 1
            return running
        }
        for _ in 0..<100 { await Task.yield() }
        Self.running.withLock { $0 -= 1 }
        #expect(count <= 8)
    }
}
#endif
