#if Tracing
public import Decorum
import HTTPTypes
public import Tracing

extension Connection {
    /// Records a span of swift-distributed-tracing for each call, or for each attempt, and sends the trace along.
    ///
    /// It belongs at two places: outermost for calls, and inside of all layers that send again for attempts, so that each retry,
    /// each redirection and each answer to a challenge is a span of its own.
    ///
    /// ```swift
    /// let connection = transport.tracing(as: .attempt)
    ///     .retrying()
    ///     .followingRedirects()
    ///     .tracing()
    /// ```
    ///
    /// **A span** has the name of the method, with the `routeName` if the request has one, and never a path. The span of a call
    /// is of the kind internal, and that of an attempt of the kind client. It ends when the body of the response has been
    /// read, has failed or has been dropped, or when no response arrived. Its attributes are those of OpenTelemetry's semantic
    /// conventions for HTTP clients, with the URL without its secrets, and `decorum.outcome`, `decorum.source`,
    /// `decorum.cache.result` and, inside of an observer of calls, `decorum.call.id`, as in a log; it has no field and no
    /// content. A failure and a status of 4xx or 5xx make its status an error; a cancellation does not.
    /// `http.request.resend_count` needs a layer for calls.
    ///
    /// **The parent** of a call is the `ServiceContext` of the task, and the parent of an attempt is its call, also in another
    /// task, such as for a hedge or a validation in the background. Code within the stack finds the span in the task too.
    /// A call that shares the response of another call gets a link to the attempt of that call.
    ///
    /// **Fields**, such as `traceparent` and `tracestate` (W3C Trace Context), are those that the tracer injects. Each attempt gets
    /// them anew, in place of older ones. Which server gets them is the decision of a ``TracePropagation``. For a request
    /// without a principal, a cache stores nothing if other fields are added than those of W3C and of B3, or `baggage`.
    ///
    /// A client of AsyncHTTPClient with a configuration of your own traces by itself, and adds the fields a second time: set its
    /// `tracing.tracer` to nil.
    ///
    /// - Parameters:
    ///   - scope: Whether a request that passes this layer is a call or an attempt.
    ///   - propagation: The servers that get the trace; only for attempts.
    ///   - tracer: Records the spans; nil for the tracer of the `InstrumentationSystem` at the time of the request. Without
    ///     one, requests pass unchanged, and only redirections drop fields.
    ///   - clock: The clock of the beginning and the duration of spans.
    /// - Returns: A connection whose requests are traced.
    public func tracing(
        as scope: CallReport.Scope = .call, _ propagation: TracePropagation = .standard, tracer: (any Tracer)? = nil,
        clock: any DatedClock = SystemClock()
    ) -> some Connection {
        TracingConnection(
            base: self,
            tracing: RequestTracing(scope: scope, propagation: propagation, tracer: tracer, clock: clock))
    }
}

extension [StandardStack.Addition] {
    /// Traces the calls and the attempts of a standard stack.
    ///
    /// ```swift
    /// let connection = try StandardStack(.server).composed(adding: .tracing())
    /// ```
    ///
    /// The layers stand outside of the observers of calls and of attempts: a call has its last status, and the log of the
    /// requests that are sent shows the fields of the trace. Append further layers to it.
    ///
    /// - Parameters:
    ///   - propagation: The servers that get the trace.
    ///   - tracer: Records the spans; nil for the tracer of the `InstrumentationSystem` at the time of the request.
    ///   - clock: The clock of the beginning and the duration of spans.
    /// - Returns: The layers with their places.
    public static func tracing(
        _ propagation: TracePropagation = .standard, tracer: (any Tracer)? = nil,
        clock: any DatedClock = SystemClock()
    ) -> [StandardStack.Addition] {
        [
            .outside(of: .callObservation) { $0.tracing(tracer: tracer, clock: clock) },
            .outside(of: .attemptObservation) { $0.tracing(as: .attempt, propagation, tracer: tracer, clock: clock) },
        ]
    }
}

struct TracingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let tracing: RequestTracing

    // No signature covers the fields of a trace, so they are no change of signed parts.
    var layer: Layer {
        Layer(
            name: "tracing", role: .observation, settings: [Layer.Setting("as", tracing.scope.rawValue)],
            facts: Layer.facts(of: tracing.clock).union(
                tracing.scope == .attempt ? [.observesAttempts, .variesPerSend] : []))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        guard tracing.isIdle else { return try await trace(request) }
        tracing.passIdle(&request)
        return try await base.send(request)
    }

    // Not inlined, so that a request without a tracer does not pay for its frame.
    @inline(never) private func trace(
        _ request: consuming Request, isolation: isolated (any Actor)? = #isolation
    ) async throws -> Response {
        let (span, context) = tracing.begin(&request)
        let request = request
        var response = try await ServiceContext.$current.withValue(context) {
            // Without it, the closure would leave the actor of the caller.
            _ = isolation
            return try await base.send(request, under: ExchangeWatch(clock: tracing.clock, reporter: span))
        }
        if tracing.scope == .attempt { response.metadata.fetchingSpan = context }
        return response
    }
}

/// The tracing of a layer; not generic, since generic code looks up its types for each request.
struct RequestTracing: Sendable {
    let scope: CallReport.Scope
    let clock: any DatedClock
    private let propagation: TracePropagation
    private let tracer: (any Tracer)?
    private let isOff: Bool

    init(scope: CallReport.Scope, propagation: TracePropagation, tracer: (any Tracer)?, clock: any DatedClock) {
        (self.scope, self.propagation, self.tracer, self.clock) = (scope, propagation, tracer, clock)
        isOff = tracer is NoOpTracer
    }

    /// Whether nothing is traced; asked for each request, so it looks up no conformance.
    var isIdle: Bool {
        tracer == nil ? type(of: InstrumentationSystem.instrument) == NoOpInstrument.self : isOff
    }

    /// Removes fields that the caller has set from a request to a foreign origin.
    @inline(__always) func passIdle(_ request: inout Request) {
        guard scope == .attempt, !request.options.redirectingOrigins.isEmpty else { return }
        propagation.update(&request, with: InjectedFields())
    }

    /// Starts the span of a request, and adds the fields of the trace; returns the span and the context of the layers further in.
    func begin(_ request: inout Request) -> (RequestSpan, ServiceContext) {
        let outer = request.options.tracedCall
        let start = DefaultTracerClock.Timestamp(clock.date)
        let span = (tracer ?? InstrumentationSystem.tracer).startSpan(
            Self.name(of: request), context: TracedCall.parent(within: outer),
            ofKind: scope == .call ? .internal : .client, at: start)
        guard scope == .attempt else {
            let call = TracedCall(span.context, within: outer)
            (request.options.tracedCall, request.options.isOfCaller) = (call, true)
            return (RequestSpan(span, start, of: request, call: call, attempt: nil), call.markedContext)
        }
        let number = request.options.isOfCaller ? outer?.beginAttempt() : nil
        let injected = InjectedFields(span.context, by: tracer ?? InstrumentationSystem.instrument)
        propagation.update(&request, with: injected)
        return (RequestSpan(span, start, of: request, call: nil, attempt: number), span.context)
    }

    /// The name of a span: the method, and the route if it has a name.
    private static func name(of request: borrowing Request) -> String {
        let method = request.head.method.rawValue
        let shown = HTTPRequest.Method.known.contains(method) ? method : "HTTP"
        return request.options.routeName.map { "\(shown) \($0.withoutControls)" } ?? shown
    }
}
#endif
