import Synchronization

/// Values that a decorator with a mistake keeps, or that a decorator without one keeps in order.
final class Kept<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    var all: [Value] { values.withLock { $0 } }

    func keep(_ value: Value) {
        values.withLock { $0.append(value) }
    }
}
