extension CompositionRule {
    /// Recordings that leave layers out, and tests that wait.
    static let testing = [
        each(
            .layersRecorded, where: { $0.isTransport && $0.has(.records) },
            fault: { place, _, inner in
                let acting = inner.filter { other in
                    !other.layer.isTransport
                        && (other.layer.has(.resends) || other.layer.has(.answers) || other.layer.role == .redirection)
                }
                guard !acting.isEmpty else { return nil }
                let names = acting.map(\.quotedName).listed
                return Fault(
                    severity: .warning, others: acting,
                    consequence:
                        "\(place.quotedName) records the answers of \(names) in place of those of the server, so "
                        + "that a replay does not run \(acting.count == 1 ? "this layer" : "these layers").",
                    change: "Put the cassette in the place of the transport: `CassetteConnection(cassette)`, with "
                        + "\(names) outside of it.")
            }),
        each(
            .testWaits, where: { $0.isTransport && $0.sends.upperBound == 0 },
            fault: { place, outer, _ in
                let waiting = outer.filter { ($0.layer.retries || $0.layer.onlyWaits) && $0.layer.has(.readsClock) }
                guard !waiting.isEmpty else { return nil }
                return Fault(
                    severity: .information, others: waiting,
                    consequence:
                        "\(place.quotedName) sends nothing, and the waits of "
                        + "\(waiting.map(\.quotedName).listed) go by the clock of the system, so that a test takes as "
                        + "long as they do.",
                    change: "Pass `clock:`, such as a `VirtualClock`, to "
                        + "\(waiting.map(\.quotedName).listed), or to `composed` of a `StandardStack`.")
            }),
    ]
}
