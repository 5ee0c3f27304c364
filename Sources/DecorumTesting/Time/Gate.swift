/// A gate that tasks wait at until a test lets them pass.
///
/// ```swift
/// let gate = Gate()
/// origin.enqueue(.script(.head(.ok, ["Content-Length": "2"]), .raw("h"), .wait(gate), .raw("i")))
/// // … the first byte has arrived …
/// gate.open()
/// ```
///
/// A gate is closed at first. ``open()`` lets all tasks pass from then on; ``admit(_:)`` lets a number of tasks
/// pass: first the ones that already wait, then the ones that come later.
public final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var permits = 0
        var waiting = 0
        var arrivals = 0
    }

    private let monitor = Monitor(State())

    /// Creates a closed gate.
    public init() {}

    /// Whether all tasks may pass.
    public var isOpen: Bool { monitor.state.isOpen }

    /// The number of tasks that wait at the gate; one that it lets pass stops counting at once, before it runs again.
    public var waitingCount: Int { monitor.state.waiting }

    /// Lets all tasks pass, now and from now on.
    public func open() { monitor.update { $0.isOpen = true } }

    /// Stops all tasks that come from now on, and takes back unused admissions.
    public func close() {
        monitor.update { state in
            state.isOpen = false
            state.permits = 0
        }
    }

    /// Lets a number of tasks pass, in the order in which they came.
    ///
    /// - Parameter count: The number of tasks; zero or less admits none.
    public func admit(_ count: Int = 1) {
        monitor.update { $0.permits += min(max(0, count), .max - $0.permits) }
    }

    /// Waits until the gate lets the task pass.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func wait() async throws {
        monitor.update { $0.arrivals += 1 }
        try await monitor.wait(
            counting: { $0.waiting += $1 },
            until: { state in
                if state.isOpen { return true }
                guard state.permits > 0 else { return false }
                state.permits -= 1
                return true
            })
    }

    /// Waits until at least a number of tasks wait at the gate at the same time.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func waitForWaiting(_ count: Int) async throws {
        try await monitor.wait { $0.waiting >= count }
    }

    /// Waits until a number of tasks have come to the gate, whether they wait there or have gone again.
    ///
    /// A step of a ``LoopbackOrigin`` leaves the gate when its connection closes, which may be at any moment.
    package func waitForArrivals(_ count: Int) async throws {
        try await monitor.wait { $0.arrivals >= count }
    }
}
