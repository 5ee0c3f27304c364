/// A way to find one kind of mistake in the layers of a stack.
///
/// In the consequence and the change, `{layer}` and `{others}` stand for the names.
struct CompositionRule: Sendable {
    /// Layers with all facts of one set, with any of another one, and with none of a third one.
    struct Kind: Sendable, ExpressibleByArrayLiteral {
        let all: [Layer.Fact]
        let any: [Layer.Fact]
        let none: [Layer.Fact]

        init(_ all: [Layer.Fact] = [], any: [Layer.Fact] = [], none: [Layer.Fact] = []) {
            (self.all, self.any, self.none) = (all, any, none)
        }

        init(arrayLiteral all: Layer.Fact...) {
            self.init(all)
        }

        func contains(_ node: LayerTree.Node) -> Bool {
            all.allSatisfy(node.facts.contains) && !none.contains(where: node.facts.contains)
                && (any.isEmpty || any.contains(where: node.facts.contains))
        }
    }

    /// The side of others at which a layer must not stand.
    enum Side { case outsideOf, insideOf }

    private var hazard: Hazard = ""
    private var severity = Finding.Severity.error
    private var kind: Kind = []
    private var side: Side?
    private var others: Kind = []
    private var outer: Kind?
    private var condition: (@Sendable (_ layer: Layer) -> Bool)?
    private var consequence = ""
    private var change: String?
    private var find: (@Sendable (_ node: LayerTree.Node, _ tree: LayerTree) -> Finding?)?

    /// Finds what one sentence cannot describe.
    @inline(never) init(
        _ kind: Kind, _ find: @escaping @Sendable (_ node: LayerTree.Node, _ tree: LayerTree) -> Finding?
    ) {
        (self.kind, self.find) = (kind, find)
    }

    /// Finds layers that stand at the wrong side of others, which another place mends, or the change.
    ///
    /// A layer outside of them may make the place sound.
    @inline(never) init(
        _ hazard: Hazard, _ severity: Finding.Severity, _ kind: Kind, _ side: Side, _ others: Kind,
        unless outer: Kind? = nil, where condition: (@Sendable (_ layer: Layer) -> Bool)? = nil, _ consequence: String,
        change: String? = nil
    ) {
        (self.hazard, self.severity, self.kind, self.side, self.others) = (hazard, severity, kind, side, others)
        (self.outer, self.condition, self.consequence, self.change) = (outer, condition, consequence, change)
    }

    /// Finds layers that are themselves at fault, unless a layer outside of them mends it.
    @inline(never) init(
        _ hazard: Hazard, _ severity: Finding.Severity, _ kind: Kind, unless outer: Kind? = nil,
        where condition: (@Sendable (_ layer: Layer) -> Bool)? = nil, _ consequence: String, change: String
    ) {
        (self.hazard, self.severity, self.kind, self.outer) = (hazard, severity, kind, outer)
        (self.condition, self.consequence, self.change) = (condition, consequence, change)
    }

    func findings(in tree: LayerTree) -> [Finding] {
        tree.nodes.filter(kind.contains).compactMap { finding(about: $0, in: tree) }
    }

    private func finding(about node: LayerTree.Node, in tree: LayerTree) -> Finding? {
        if let find { return find(node, tree) }
        let outside = tree.nodes(outsideOf: node)
        guard condition?(node.layer) ?? true, !outside.contains(where: { outer?.contains($0) ?? false }) else {
            return nil
        }
        guard let side else {
            return Finding(hazard, severity, node, [], consequence, change: change ?? "")
        }
        let others = (side == .outsideOf ? tree.nodes(insideOf: node) : outside).filter(self.others.contains)
        guard let first = others.first, let last = others.last else { return nil }
        if let change { return Finding(hazard, severity, node, others, consequence, change: change) }
        return Finding(
            hazard, severity, moving: node,
            to: side == .outsideOf ? .inside(of: last.place) : .outside(of: first.place), because: others, consequence)
    }

    /// All rules, in the order in which their findings are shown.
    static let all = [
        credentials, hosts, signatures, retries, traffic, deadlines, fields, caching, observation, testing, repetition,
    ].flatMap(\.self)
}

extension LayerTree.Node {
    /// The sentence with the names of the layer and of others.
    func naming(_ others: [LayerTree.Node], in sentence: String) -> String {
        sentence.replacing("{others}", with: others.map(\.name).listed).replacing("{layer}", with: name)
    }
}

extension Layer.Fact {
    /// The facts that stand for the roles of layers.
    static let transport = Self("role transport")
    static let preparation = Self("role preparation")
    static let redirection = Self("role redirection")
    static let hostPolicy = Self("role host policy")
    static let cookies = Self("role cookies")
    static let caching = Self("role caching")
    static let resilience = Self("role resilience")
    static let authentication = Self("role authentication")
    static let observation = Self("role observation")
    static let validation = Self("role validation")
    /// Sends again after a failure; a transport that does so is the transport's own affair.
    static let retries = Self("retries, as derived")
    /// Sends again after a failure, or beside a slow request.
    static let repeats = Self("repeats, as derived")
    /// Sends through its base to another server too, which a redirection or a setting names.
    static let changesServer = Self("changes the server, as derived")
    /// Holds requests back, and neither sends again nor waits for the requests of others.
    static let onlyWaits = Self("only waits, as derived")
    /// Ends what is inside of the layer at a deadline.
    static let limitsTime = Self("limits time, as derived")
    /// Ends calls at a deadline.
    static let limitsCalls = Self("limits calls, as derived")
    /// Sends often, besides redirections and validations; a layer that sends twice corrects a request.
    static let multiplies = Self("multiplies, as derived")

    /// The facts of a layer, its role and what follows from them.
    static func all(of layer: Layer) -> Set<Self> {
        var facts = layer.facts
        facts.insert(Self("role \(layer.role.name)"))
        if layer.role == .resilience, layer.has(.resends) {
            facts.formUnion(layer.has(.hedges) ? [.repeats] : [.repeats, .retries])
        }
        if layer.role == .redirection || layer.has(.fallsBack) && layer.has(.resends) { facts.insert(.changesServer) }
        if layer.role == .resilience, layer.has(.waits), !layer.has(.resends), !layer.has(.sharesResponses) {
            facts.insert(.onlyWaits)
        }
        if layer.time.limit != .unbounded, layer.role != .transport {
            facts.formUnion(layer.has(.limitsAttempts) ? [.limitsTime] : [.limitsTime, .limitsCalls])
        }
        if layer.multiplies { facts.insert(.multiplies) }
        return facts
    }
}

extension Layer {
    func has(_ fact: Fact) -> Bool { facts.contains(fact) }

    /// Whether the layer sends often, besides redirections and validations; a layer that sends twice corrects a request.
    var multiplies: Bool {
        switch role {
        case .resilience where has(.resends): true
        // Up to three times, a transport makes up for a connection that was lost while it was idle.
        case .transport: sending.times.upperBound > 3
        case .redirection, .caching: false
        default: sending.times.upperBound > 2
        }
    }
}
