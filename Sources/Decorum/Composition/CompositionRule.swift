/// A way to find one kind of mistake in the layers of a stack.
struct CompositionRule: Sendable {
    typealias Test = @Sendable (_ layer: Layer) -> Bool

    /// The side of others at which a layer must not stand.
    enum Side { case outsideOf, insideOf }

    let findings: @Sendable (_ tree: LayerTree) -> [Finding]

    init(_ findings: @escaping @Sendable (_ tree: LayerTree) -> [Finding]) {
        self.findings = findings
    }

    /// Finds layers that stand at the wrong side of others, unless the layers outside of them make the place sound.
    ///
    /// In the consequence, `{layer}` and `{others}` stand for the names.
    init(
        _ hazard: Hazard, _ severity: Finding.Severity, _ isLayer: @escaping Test, _ side: Side,
        _ isOther: @escaping Test, unless isSound: @escaping @Sendable (_ outer: [LayerPlace]) -> Bool = { _ in false },
        _ consequence: String
    ) {
        self.init { tree in
            tree.nodes.filter { isLayer($0.layer) }.compactMap { node in
                let outer = tree.layers(outsideOf: node)
                let others = (side == .outsideOf ? tree.layers(insideOf: node) : outer).filter { isOther($0.layer) }
                guard let first = others.first, let last = others.last, !isSound(outer) else { return nil }
                return Finding(
                    hazard, severity, moving: node.place,
                    to: side == .outsideOf ? .inside(of: last) : .outside(of: first), because: others,
                    consequence.naming(node.place, others))
            }
        }
    }

    /// Finds layers at fault, which another setting or another layer mends.
    ///
    /// In the consequence and the change, `{layer}` and `{others}` stand for the names. `others` returns the other layers that
    /// the finding is about, or nil without a fault; it gets the layers outside and inside of the layer.
    init(
        _ hazard: Hazard, _ severity: Finding.Severity, _ consequence: String, change: String,
        where isLayer: @escaping Test,
        others:
            @escaping @Sendable (_ place: LayerPlace, _ outer: [LayerPlace], _ inner: [LayerPlace]) ->
            [LayerPlace]? = { _, _, _ in [] }
    ) {
        self.init { tree in
            tree.nodes.filter { isLayer($0.layer) }.compactMap { node in
                let place = node.place
                guard let others = others(place, tree.layers(outsideOf: node), tree.layers(insideOf: node)) else {
                    return nil
                }
                return Finding(
                    hazard, severity, [place] + others, consequence.naming(place, others),
                    change: change.naming(place, others))
            }
        }
    }

    /// All rules, in the order in which their findings are shown.
    static let all =
        credentials + hosts + signatures + retries + deadlines + fields + caching + observation + testing + repetition
}

extension Layer {
    func has(_ fact: Fact) -> Bool { facts.contains(fact) }

    var isTransport: Bool { role == .transport }
    /// Whether the layer sends again after a failure; a transport that does so is the transport's own affair.
    var retries: Bool { role == .resilience && has(.resends) }
    /// Whether the layer holds requests back, and neither sends again nor waits for the requests of others.
    var onlyWaits: Bool { role == .resilience && has(.waits) && !has(.resends) && !has(.sharesResponses) }
    /// Whether the layer ends what is inside of it at a deadline.
    var limitsTime: Bool { time.limit != .unbounded && !isTransport }
    /// Whether that is the deadline of a call.
    var limitsCalls: Bool { limitsTime && !has(.limitsAttempts) }
    /// Whether the layer sends often, besides redirections and validations; a layer that sends twice corrects a request.
    var multiplies: Bool {
        retries || !isTransport && role != .redirection && role != .caching && sending.times.upperBound > 2
    }
}

extension Sequence<LayerPlace> {
    func contains(_ isWanted: (Layer) -> Bool) -> Bool { contains { isWanted($0.layer) } }

    func having(_ fact: Layer.Fact) -> [LayerPlace] { filter { $0.layer.has(fact) } }
}

extension [LayerPlace] {
    /// The layers; nil without any.
    var unlessEmpty: [LayerPlace]? { isEmpty ? nil : self }
}

extension String {
    /// The sentence with the names of a layer and of others.
    fileprivate func naming(_ layer: LayerPlace, _ others: [LayerPlace]) -> String {
        replacing("{others}", with: others.map(\.name).listed).replacing("{layer}", with: layer.name)
    }
}
