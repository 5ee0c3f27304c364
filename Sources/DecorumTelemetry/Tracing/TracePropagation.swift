#if Tracing
public import Decorum
import HTTPTypes
import Tracing

/// The servers to which `tracing(as:_:tracer:clock:)` sends a trace.
///
/// An attempt gets the fields that the tracer injects, such as `traceparent` and `tracestate`, unless a server has redirected it
/// to a foreign origin: one that is not named here, after a redirection by any other origin, also back to the first one.
/// At a foreign origin, the fields of W3C and those that the tracer injects are removed, also if the caller has set them.
///
/// `baggage` may hold data about users. The tracer's is sent only to the origins that are named for it. A `baggage` that
/// the caller has set in a request is sent too, except to a foreign origin.
///
/// ```swift
/// let api = try Origin("https://api.example.com")
/// let connection = transport.tracing(as: .attempt, TracePropagation(baggage: [api]))
/// ```
///
/// See W3C Trace Context, section 7, and W3C Baggage, section 4.
public struct TracePropagation: Sendable, Hashable {
    /// The origins that get the trace also after a redirection from another origin.
    public var redirectedOrigins: Set<Origin>
    /// The origins that get the tracer's `baggage`; after a redirection, only if they are not foreign.
    public var baggageOrigins: Set<Origin>

    /// Creates a rule; by default, no origin is named.
    ///
    /// - Parameters:
    ///   - redirectedOrigins: The origins that get the trace also after a redirection from another origin.
    ///   - baggageOrigins: The origins that get the tracer's `baggage`.
    public init(following redirectedOrigins: Set<Origin> = [], baggage baggageOrigins: Set<Origin> = []) {
        (self.redirectedOrigins, self.baggageOrigins) = (redirectedOrigins, baggageOrigins)
    }

    /// Sends the trace to each server that the app has chosen, without `baggage`.
    public static let standard = TracePropagation()

    /// Puts the fields of a trace into a request, or removes older ones if its origin is foreign.
    func update(_ request: inout Request, with injected: InjectedFields) {
        let origin = try? Origin(request.head)
        if isForeign(origin, after: request.options.redirectingOrigins) {
            injected.remove(from: &request.head.headerFields)
        } else {
            let getsBaggage = origin.map(baggageOrigins.contains) ?? false
            injected.add(to: &request.head.headerFields, withBaggage: getsBaggage)
        }
    }

    /// Whether an origin must not get the trace of a request, after redirections by others.
    func isForeign(_ origin: Origin?, after redirecting: Set<Origin>) -> Bool {
        guard let origin else { return !redirecting.isEmpty }
        return !redirecting.isSubset(of: [origin]) && !redirectedOrigins.contains(origin)
    }
}

/// The fields that a tracer injects; a propagator tells their names only by injecting them.
struct InjectedFields: Sendable {
    private(set) var fields: [HTTPField] = []

    init() {}

    init(_ context: ServiceContext, by instrument: any Instrument) {
        instrument.inject(context, into: &self, using: FieldInjector())
    }

    /// Adds the fields in place of older ones; an older `tracestate` does not belong to a new `traceparent`.
    func add(to fields: inout HTTPFields, withBaggage: Bool) {
        let added = withBaggage ? self.fields : self.fields.filter { $0.name != .baggage }
        guard !added.isEmpty else { return }
        (fields[.traceparent], fields[.tracestate]) = (nil, nil)
        for field in added { fields[field.name] = field.value }
    }

    /// Removes the fields, and those of W3C.
    func remove(from fields: inout HTTPFields) {
        let names = Set([.traceparent, .tracestate, .baggage] + self.fields.map(\.name))
        fields.removeAll { names.contains($0.name) }
    }

    private struct FieldInjector: Injector {
        func inject(_ value: String, forKey key: String, into carrier: inout InjectedFields) {
            guard let name = HTTPField.Name(key), HTTPField.isValidValue(value) else { return }
            carrier.fields.append(HTTPField(name: name, value: value))
        }
    }
}

extension HTTPField.Name {
    // A name without characters that a name cannot have.
    // swift-format-ignore: NeverForceUnwrap
    static let baggage = HTTPField.Name("baggage")!
}
#endif
