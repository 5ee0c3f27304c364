/// Whether a condition is met within some seconds of real time, so that a test that fails does not wait for long.
///
/// In a busy process a turn may take seconds, so the condition gets a thousand turns at least.
public func soon(within limit: Duration = .seconds(5), _ condition: () -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + limit
    var turns = 0
    while !condition() {
        guard turns < 1000 || ContinuousClock.now < deadline else { return false }
        turns += 1
        await Task.yield()
    }
    return true
}
