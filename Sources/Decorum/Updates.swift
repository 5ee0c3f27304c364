import Synchronization

/// A value that changes, and that any number of readers follow; a slow reader gets the newest one.
package final class Updates<Value: Sendable & Equatable>: Sendable {
    private final class Reader: Sendable {
        let stream: AsyncStream<Value>.Continuation
        let isGone = Atomic(false)

        init(_ stream: AsyncStream<Value>.Continuation) { self.stream = stream }
    }

    private struct State {
        var value: Value
        var readers: [Reader] = []
        /// The number of readers above which those who have gone are looked for, so that each reader costs little.
        var limit = 16

        mutating func add(_ reader: Reader) {
            if readers.count >= limit {
                readers.removeAll { $0.isGone.load(ordering: .relaxed) }
                limit = max(16, readers.count * 2)
            }
            readers.append(reader)
        }
    }

    private let isLast: @Sendable (Value) -> Bool
    private let state: Mutex<State>

    /// Creates a value; `isLast` tells whether one ends the readers, and later ones start with it, or with what follows it.
    package init(_ value: Value, endingWith isLast: @escaping @Sendable (Value) -> Bool = { _ in false }) {
        self.isLast = isLast
        state = Mutex(State(value: value))
    }

    // No further value comes.
    deinit { for reader in state.withLock({ $0.readers }) { reader.stream.finish() } }

    package var value: Value { state.withLock { $0.value } }

    /// Changes the value, and tells it to the readers in the order in which they came, unless it is the same.
    package func update(_ change: (inout Value) -> Void) {
        let over = state.withLock { state in
            let former = state.value
            change(&state.value)
            guard state.value != former else { return [Reader]() }
            state.readers.removeAll { $0.isGone.load(ordering: .relaxed) }
            // A reader that comes next gets its value in order, since readers are told within the lock.
            for reader in state.readers { reader.stream.yield(state.value) }
            return isLast(state.value) ? state.readers : []
        }
        for reader in over { reader.stream.finish() }
    }

    /// The value now, unless only later ones are wanted, and then each new one, until the last.
    ///
    /// The stream retains an object until its reader drops it.
    package func stream(
        ofLaterOnes isLater: Bool = false, retaining owner: (any AnyObject & Sendable)? = nil
    ) -> AsyncStream<Value> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { stream in
            let reader = Reader(stream)
            // A cancellation calls this while it holds the task of the reader, for which a change waits within its lock. So this
            // takes no lock.
            stream.onTermination = { _ in
                withExtendedLifetime(owner) { reader.isGone.store(true, ordering: .relaxed) }
            }
            let isOver = state.withLock { state in
                if !isLater { stream.yield(state.value) }
                guard !isLast(state.value) else { return true }
                state.add(reader)
                return false
            }
            if isOver { stream.finish() }
        }
    }
}
