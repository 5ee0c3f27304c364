import Foundation
import Testing

/// Expects that work on twice the input takes about twice the time, and not four times as quadratic work does.
///
/// The two times are measured in turns, so the speed of the machine does not matter. A measurement is too long where the
/// thread was interrupted, a cache was cold or memory grew, so the shortest of several counts. Only the work that
/// `prepare` returns is measured.
func expectLinearTime(
    upTo largest: Int, _ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation,
    _ prepare: (_ size: Int) -> () -> Void
) {
    let (smaller, larger) = (prepare(largest / 2), prepare(largest))
    var (shorter, longer) = (Duration.seconds(3600), Duration.seconds(3600))
    for round in 0..<20 {
        shorter = min(shorter, processorTime(of: smaller))
        longer = min(longer, processorTime(of: larger))
        if round > 1, longer < shorter * 3 { return }
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
