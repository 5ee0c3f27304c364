#if Tracing
import Decorum
import Synchronization
import Tracing

/// What the attempts of a call know of it, in whatever task they are sent.
final class TracedCall: Sendable {
    private let context: ServiceContext
    private let outer: TracedCall?
    private let count = Atomic(0)

    init(_ context: ServiceContext, within outer: TracedCall?) {
        (self.context, self.outer) = (context, outer)
    }

    /// The context of the tasks that send for the call.
    var markedContext: ServiceContext {
        var context = context
        context[MarkKey.self] = self
        return context
    }

    /// The context of the parent of a request: that of the task if it belongs to the call, since code of the app may have begun
    /// a span within it.
    static func parent(within call: TracedCall?) -> ServiceContext {
        let current = ServiceContext.current
        guard let call, current?[MarkKey.self] !== call else { return current ?? .topLevel }
        return call.context
    }

    /// The number of attempts so far.
    var attempts: Int { count.load(ordering: .relaxed) }

    /// Counts an attempt, and returns its number from 1.
    @discardableResult func beginAttempt() -> Int {
        outer?.beginAttempt()
        return count.wrappingAdd(1, ordering: .relaxed).newValue
    }

    private enum MarkKey: ServiceContextKey { typealias Value = TracedCall }
}

extension ResponseMetadata {
    /// The span of the attempt that has fetched the response.
    var fetchingSpan: ServiceContext? {
        get { self[FetchingSpanKey.self] }
        set { self[FetchingSpanKey.self] = newValue }
    }
}

private enum FetchingSpanKey: ResponseMetadataKey { static let defaultValue: ServiceContext? = nil }

extension RequestOptions {
    /// The call to which the request belongs, also if it is sent for several callers or in the background.
    var tracedCall: TracedCall? {
        get { self[TracedCallKey.self] }
        set { self[TracedCallKey.self] = newValue }
    }

    /// Whether a caller waits for the request; false for one in the background.
    var isOfCaller: Bool {
        get { self[IsOfCallerKey.self] }
        set { self[IsOfCallerKey.self] = newValue }
    }
}

private enum TracedCallKey: RequestOptionKey { static let defaultValue: TracedCall? = nil }
private enum IsOfCallerKey: RequestOptionKey {
    static let defaultValue = false
    static let travels: OptionTravel = [.redirections, .attempts, .sharedRequests]
}
#endif
