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
    let clock = ContinuousClock()
    var (shorter, longer) = (Duration.seconds(3600), Duration.seconds(3600))
    for round in 0..<20 {
        shorter = min(shorter, clock.measure(smaller))
        longer = min(longer, clock.measure(larger))
        if round > 1, longer < shorter * 3 { return }
    }
    Issue.record("\(comment): \(shorter) became \(longer) for twice the input.", sourceLocation: sourceLocation)
}
