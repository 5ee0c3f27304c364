#if Tracing
import InMemoryTracing
import Synchronization
import Tracing

/// A tracer in memory with the fields of W3C and of B3, which counts how often each span is ended.
final class RecordingTracer: Tracer {
    struct RecordedSpan: Tracing.Span {
        let span: InMemorySpan
        let tracer: RecordingTracer

        var context: ServiceContext { span.context }
        var isRecording: Bool { tracer.isSampling && span.isRecording }
        var operationName: String {
            get { span.operationName }
            nonmutating set { span.operationName = newValue }
        }
        var attributes: SpanAttributes {
            get { span.attributes }
            nonmutating set { span.attributes = newValue }
        }

        func setStatus(_ status: SpanStatus) { span.setStatus(status) }
        func addEvent(_ event: SpanEvent) { span.addEvent(event) }
        func addLink(_ link: SpanLink) { span.addLink(link) }
        func recordError<Instant: TracerInstant>(
            _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
        ) {
            span.recordError(error, attributes: attributes, at: instant())
        }
        func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
            tracer.ends.withLock { $0[span.spanID, default: 0] += 1 }
            span.end(at: instant())
        }
    }

    private let memory = InMemoryTracer()
    private let isSampling: Bool
    private let ends = Mutex<[String: Int]>([:])

    init(isSampling: Bool = true) {
        self.isSampling = isSampling
    }

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> RecordedSpan {
        let span = memory.startSpan(
            operationName, context: context(), ofKind: kind, at: instant(), function: function, file: fileID, line: line
        )
        return RecordedSpan(span: span, tracer: self)
    }

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let span = context.inMemorySpanContext else { return }
        injector.inject("00-\(span.traceID)-\(span.spanID)-01", forKey: "traceparent", into: &carrier)
        injector.inject("\(span.traceID)-\(span.spanID)", forKey: "b3", into: &carrier)
        guard let user = context.user else { return }
        injector.inject("user=\(user)", forKey: "baggage", into: &carrier)
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {}

    func forceFlush() {}

    func clear() { memory.clearAll() }

    /// The spans that have ended, in the order of their starts.
    var spans: [FinishedInMemorySpan] { memory.finishedSpans.sorted { $0.number < $1.number } }

    /// Whether each span was ended, and none of them twice.
    var hasEndedEachOnce: Bool { memory.activeSpans.isEmpty && ends.withLock { $0.values.allSatisfy { $0 == 1 } } }

    /// Each span in a line: its number, that of its parent, its kind, its name, its outcome, and the spans it has links to.
    var lines: [String] { spans.map(\.line) }
}

extension FinishedInMemorySpan {
    var number: Int { Self.number(of: spanID) }

    fileprivate static func number(of spanID: String) -> Int { Int(spanID.drop { !$0.isNumber }) ?? 0 }

    /// The attributes, of which numbers are shown as texts.
    var texts: [String: String] {
        var texts: [String: String] = [:]
        // It is no sequence.
        // swift-format-ignore: ReplaceForEachWithForLoop
        attributes.forEach { name, value in
            switch value {
            case .int64(let number): texts[name] = "\(number)"
            case .string(let text): texts[name] = text
            default: texts[name] = "\(value)"
            }
        }
        return texts
    }

    fileprivate var line: String {
        var words = ["\(number)"]
        if let parentSpanID { words.append("in \(Self.number(of: parentSpanID))") }
        words += ["\(kind)", operationName]
        let texts = texts
        if let code = texts["http.response.status_code"] { words.append(code) }
        let facts = [texts["decorum.source"], texts["decorum.outcome"]].compactMap(\.self)
        words += facts.filter { ["cache", "revalidated", "cancelled", "abandoned"].contains($0) }
        if status?.code == .error { words.append("error") }
        if let count = texts["http.request.resend_count"] { words.append("resend \(count)") }
        for link in links {
            words.append("-> \(link.context.inMemorySpanContext.map { "\(Self.number(of: $0.spanID))" } ?? "?")")
        }
        return words.joined(separator: " ")
    }
}

extension ServiceContext {
    private enum UserKey: ServiceContextKey { typealias Value = String }

    /// What the tracer sends as baggage.
    var user: String? {
        get { self[UserKey.self] }
        set { self[UserKey.self] = newValue }
    }
}
#endif
