import Foundation
import Testing

/// Expects that work on twice the input takes about twice the time, and not four times as quadratic work does.
///
/// It compares processor time of this thread, so neither the speed of the machine nor its load matters. Some measurements
/// are longer than the work, such as when a cache is cold or memory grows, so the shortest of several counts. Only the work
/// that `prepare` returns is measured.
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

private func processorTime(of work: () -> Void) -> Duration {
    let start = processorTime
    work()
    return processorTime - start
}

private var processorTime: Duration {
    var time = timespec()
    // The system writes one value, within the call.
    _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
