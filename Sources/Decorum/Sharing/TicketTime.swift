/// When a ticket was given, in nanoseconds: by the clock that all processes have, and by one that is never set.
struct TicketTime: Sendable, Equatable {
    /// The date and time of day, as files have it.
    let wall: Int64
    /// The time since the machine was started, with the time in which it slept.
    let steady: Int64

    static let day: Int64 = 86_400_000_000_000
    /// The two clocks are read one after the other, so that their difference is not exact.
    private static let tolerance: Int64 = 5_000_000
    /// The largest error of one reading, of which two are compared, with some room.
    private static let readingTolerance: Int64 = 1_250_000
    private static let readingLimit = 10
    #if canImport(Darwin)
    /// The part of a time by which the clocks may drift apart while the time of day is being corrected.
    private static let drift: Int64 = 1000
    #else
    /// Both clocks of Linux are corrected alike.
    private static let drift: Int64 = .max
    #endif

    /// Reads both clocks as if at one moment.
    ///
    /// A thread may lose its processor for longer than the tolerance between two readings, after which the clock would
    /// count as set. So the steady clock is read on both sides, and of several attempts the shortest one counts.
    static func read(wall: () -> Int64, steady: () -> Int64) -> TicketTime {
        var time = TicketTime(wall: 0, steady: 0)
        var shortest = Int64.max
        for _ in 0..<readingLimit {
            let start = steady()
            let now = TicketTime(wall: wall(), steady: start)
            let length = steady() &- start
            if length < shortest { (time, shortest) = (now, length) }
            if length <= readingTolerance { break }
        }
        return time
    }

    /// Whether later removals can be told by their time of day: the clock was not set, and less than a day has passed,
    /// after which the marks of removals are deleted.
    func isComparable(at now: TicketTime) -> Bool {
        let passed = now.steady &- steady
        let difference = (now.wall &- wall) &- passed
        return passed < Self.day && difference.magnitude <= (Self.tolerance + passed / Self.drift).magnitude
    }
}
