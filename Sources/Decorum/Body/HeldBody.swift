import Synchronization

/// A body that one task takes, once.
///
/// A task is released a little after its work has ended. If it captured the body itself, the transfer would stay open
/// until then.
final class HeldBody: Sendable {
    private let body: Mutex<Body?>

    init(_ body: Body) {
        self.body = Mutex(body)
    }

    func take() -> Body? {
        body.withLock { $0.take() }
    }
}
