import Foundation
public import Testing

/// A parser of what a server gives, with the inputs that are the most work for it.
public struct TimedParser: Sendable, CustomTestStringConvertible {
    /// The name of the parser.
    public let testDescription: String
    private let parts: [String]
    private let start: String
    private let end: String
    private let parse: @Sendable (String) -> Void

    /// Creates a parser whose hostile inputs are parts that are repeated, after a start and before an end; a bar is between
    /// two parts of which each fills one half.
    public init(
        _ name: String, _ parts: [String], from start: String = "", to end: String = "",
        _ parse: @escaping @Sendable (String) -> Void
    ) {
        testDescription = name
        self.parts = parts
        (self.start, self.end) = (start, end)
        self.parse = parse
    }

    /// Expects that 20 kB take about twice the time of 10 kB; 100 kB in the long form, which `DECORUM_SOAK=1` selects.
    public func expectLinearTime(sourceLocation: SourceLocation = #_sourceLocation) {
        let largest = Footprint.isSoak ? 100_000 : 20_000
        for part in parts {
            DecorumTestSupport.expectLinearTime(
                upTo: largest, "\(testDescription) of \(part.debugDescription)", sourceLocation: sourceLocation
            ) { size in
                let halves = part.split(separator: "|")
                let text = halves.map { half in
                    String(repeating: String(half), count: size / halves.count / half.utf8.count)
                }
                return { [whole = start + text.joined() + end] in parse(whole) }
            }
        }
    }
}

/// Expects that work on twice the input takes about twice the time, and not four times as quadratic work does.
///
/// The two times are measured in turns, so the speed of the machine does not matter. A measurement is too long where the
/// thread was interrupted, a cache was cold or memory grew, so the shortest of several counts. A time of a few
/// milliseconds is too short for quadratic work on thousands of parts. Only the work that `prepare` returns is measured.
public func expectLinearTime(
    upTo largest: Int, _ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation,
    _ prepare: (_ size: Int) -> () -> Void
) {
    let (smaller, larger) = (prepare(largest / 2), prepare(largest))
    var (shorter, longer) = (Duration.seconds(3600), Duration.seconds(3600))
    for round in 0..<60 {
        longer = min(longer, processorTime(of: larger))
        if longer < .milliseconds(5) { return }
        shorter = min(shorter, processorTime(of: smaller))
        // One pair proves less than several, since its shorter time alone may be too long.
        if longer * 2 < shorter * (round > 0 ? 6 : 5) { return }
        // Work that takes seconds is measured well after two rounds.
        if round > 0, longer > .seconds(1) { break }
    }
    Issue.record("\(comment): \(shorter) became \(longer) for twice the input.", sourceLocation: sourceLocation)
}

/// The processor time of this thread, since a busy machine interrupts long work more often than short work.
private func processorTime(of work: () -> Void) -> Duration {
    let start = threadTime
    work()
    return threadTime - start
}

private var threadTime: Duration {
    // Two numbers stand for a `timespec`: the module of its members depends on the files that are compiled beside this one.
    var time = (seconds: 0, nanoseconds: 0)
    unsafe withUnsafeMutablePointer(to: &time) { pointer in
        _ = unsafe clock_gettime(
            CLOCK_THREAD_CPUTIME_ID, UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: timespec.self))
    }
    return .seconds(time.seconds) + .nanoseconds(time.nanoseconds)
}
