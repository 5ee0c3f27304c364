extension CompositionRule {
    /// Secrets that are written down, content that is held without a limit, and calls that are not seen.
    static let observation = [
        each(
            .secretsRecorded, where: { $0.has(.records) && !$0.has(.redacts) },
            fault: { place, outer, inner in
                let showsFields = place.layer.has(.recordsFields)
                let fields = (outer + inner).reduce(into: place.layer.secretFields) {
                    $0.formUnion($1.layer.secretFields)
                }
                let names = showsFields ? fields.map { "`\($0.rawName)`" }.sorted() : []
                return Fault(
                    severity: showsFields ? .error : .warning,
                    consequence: "\(place.quotedName) writes secrets down as they are, such as "
                        + (names.isEmpty ? "a token in the query of a URL." : "the values of \(names.listed)."),
                    change:
                        "Leave out `redacting: .none`. A layer of your own that hides secrets declares the fact `redacts`."
                )
            }),
        anywhere(.unboundedMemory, .warning) {
            !$0.isTransport && $0.bytesHeld == .unbounded
        } consequence: { layer in
            "\(layer) holds content in memory without a limit, so that one long response fills the memory."
        } change: { layer in
            "Give \(layer) a limit."
        },
        tooFarOut(.attemptsUnseen, .warning) { layer, other in
            layer.has(.observesAttempts) && (other.retries || other.role == .redirection || other.role == .caching)
        } consequence: { layer, others in
            "\(layer) stands outside of \(others), and takes each call for one attempt, however often it is sent."
        },
        CompositionRule(hazard: .callsUnseen) { tree in
            let observers = tree.nodes.filter { $0.layer.role == .observation }
            let hiding = observers.compactMap { observer in
                tree.layers(outsideOf: observer).first { $0.layer.retries || $0.layer.role == .caching }
            }
            guard let observer = observers.first, let outermost = hiding.first, hiding.count == observers.count else {
                return []
            }
            let name = outermost.quotedName
            return [
                Finding(
                    hazard: .callsUnseen, severity: .information, places: [observer.place, outermost],
                    consequence:
                        "\(observer.place.quotedName) sees each request that \(name) sends, and nothing shows how long a call "
                        + "takes" + (outermost.layer.has(.answers) ? ", or a call that \(name) answers." : "."),
                    change: "Observe the calls too, as by `.observing(…)` or `.logging(…)` below the line of \(name).",
                    move: nil)
            ]
        },
    ]
}
