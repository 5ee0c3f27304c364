public import Decorum

/// The requests that share a limit, a circuit or a measurement.
public enum TrafficScope: String, Sendable, Hashable, CaseIterable {
    /// All requests to one origin.
    case origin
    /// All requests of one `group`.
    case group
    /// All requests.
    case all
}

/// The requests that share a limit or a circuit.
public enum TrafficKey: Sendable, Hashable, CustomStringConvertible {
    /// The requests to an origin.
    case origin(Origin)
    /// The requests of a group.
    case group(RequestGroup)
    /// All requests; in the other scopes, the requests without an origin or a group.
    case all

    init(_ request: borrowing Request, _ scope: TrafficScope) {
        switch scope {
        case .origin: self = (try? Origin(request.head)).map { .origin($0) } ?? .all
        case .group: self = request.options.group.map { .group($0) } ?? .all
        case .all: self = .all
        }
    }

    /// The host and the port, the group, or “all requests”.
    public var description: String {
        switch self {
        case .origin(let origin): origin.hostAndPort
        case .group(let group): "the group \(group.name)"
        case .all: "all requests"
        }
    }
}
