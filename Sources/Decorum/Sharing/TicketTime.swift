/// When a ticket was given, in nanoseconds: by the clock that all processes have, and by one that is never set.
struct TicketTime: Sendable, Equatable {
    /// The date and time of day, as files have it.
    let wall: Int64
    /// The time since the machine was started, with the time in which it slept.
    let steady: Int64

    static let day: Int64 = 86_400_000_000_000
    /// The two clocks are read one after the other, so that their difference is not exact.
    private static let tolerance: Int64 = 5_000_000
    #if canImport(Darwin)
    /// The part of a time by which the clocks may drift apart while the time of day is being corrected.
    private static let drift: Int64 = 1000
    #else
    /// Both clocks of Linux are corrected alike.
    private static let drift: Int64 = .max
    #endif

    /// Whether later removals can be told by their time of day: the clock was not set, and less than a day has passed,
    /// after which the marks of removals are deleted.
    func isComparable(at now: TicketTime) -> Bool {
        let passed = now.steady &- steady
        let difference = (now.wall &- wall) &- passed
        return passed < Self.day && difference.magnitude <= (Self.tolerance + passed / Self.drift).magnitude
    }
}
