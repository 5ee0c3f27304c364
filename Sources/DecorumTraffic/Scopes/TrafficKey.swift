import Decorum

/// The requests that share a limit, a circuit or a measurement.
public enum TrafficScope: String, Sendable, Hashable, CaseIterable {
    /// All requests to one origin.
    case origin
    /// All requests of one `group`.
    case group
    /// All requests.
    case all
}

/// One set of requests of a scope.
struct TrafficKey: Sendable, Hashable {
    let origin: Origin?
    let group: RequestGroup?

    init(_ request: borrowing Request, _ scope: TrafficScope) {
        origin = scope == .origin ? try? Origin(request.head) : nil
        group = scope == .group ? request.options.group : nil
    }
}

extension TrafficKey: CustomStringConvertible {
    /// The origin or the group, or “all requests”.
    var description: String {
        origin.map { "\($0.host):\($0.port)" } ?? group.map { "the group \($0.name)" } ?? "all requests"
    }
}
