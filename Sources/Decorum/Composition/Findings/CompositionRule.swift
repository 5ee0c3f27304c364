/// A kind of mistake, and the way to find it in the layers of a stack.
struct CompositionRule: Sendable {
    let hazard: Hazard
    let findings: @Sendable (_ tree: LayerTree) -> [Finding]

    /// Finds layers that stand outside of others and belong inside of them.
    ///
    /// - Parameters:
    ///   - hazard: The hazard.
    ///   - severity: The severity of a finding.
    ///   - isHazard: Returns whether a layer must not stand outside of another.
    ///   - consequence: The consequence, by the name of the layer and the names of the others.
    /// - Returns: The rule.
    static func tooFarOut(
        _ hazard: Hazard, _ severity: Finding.Severity,
        where isHazard: @escaping @Sendable (_ layer: Layer, _ other: Layer) -> Bool,
        consequence: @escaping @Sendable (_ layer: String, _ others: String) -> String
    ) -> CompositionRule {
        CompositionRule(hazard: hazard) { tree in
            tree.nodes.compactMap { node in
                let others = tree.layers(insideOf: node).filter { isHazard(node.layer, $0.layer) }
                guard let innermost = others.last else { return nil }
                return Finding(
                    hazard, severity, moving: node.place, to: .inside(of: innermost), because: others,
                    consequence: consequence(node.place.quotedName, others.map(\.quotedName).listed))
            }
        }
    }

    /// Finds layers that stand inside of others and belong outside of them.
    ///
    /// - Parameters:
    ///   - hazard: The hazard.
    ///   - severity: The severity of a finding.
    ///   - isHazard: Returns whether a layer must not stand inside of another.
    ///   - consequence: The consequence, by the name of the layer and the names of the others.
    /// - Returns: The rule.
    static func tooFarIn(
        _ hazard: Hazard, _ severity: Finding.Severity,
        where isHazard: @escaping @Sendable (_ layer: Layer, _ other: Layer) -> Bool,
        consequence: @escaping @Sendable (_ layer: String, _ others: String) -> String
    ) -> CompositionRule {
        CompositionRule(hazard: hazard) { tree in
            tree.nodes.compactMap { node in
                let others = tree.layers(outsideOf: node).filter { isHazard(node.layer, $0.layer) }
                guard let outermost = others.first else { return nil }
                return Finding(
                    hazard, severity, moving: node.place, to: .outside(of: outermost), because: others,
                    consequence: consequence(node.place.quotedName, others.map(\.quotedName).listed))
            }
        }
    }

    /// Finds layers by what is outside and inside of them.
    ///
    /// - Parameters:
    ///   - hazard: The hazard.
    ///   - isConcerned: Returns whether a layer can be at fault.
    ///   - fault: Returns the rest of the finding, if there is one; it gets the layers outside and inside of the layer.
    /// - Returns: The rule.
    static func each(
        _ hazard: Hazard, where isConcerned: @escaping @Sendable (_ layer: Layer) -> Bool,
        fault: @escaping @Sendable (_ place: LayerPlace, _ outer: [LayerPlace], _ inner: [LayerPlace]) -> Fault?
    ) -> CompositionRule {
        CompositionRule(hazard: hazard) { tree in
            tree.nodes.filter { isConcerned($0.layer) }.compactMap { node in
                let fault = fault(node.place, tree.layers(outsideOf: node), tree.layers(insideOf: node))
                return fault?.finding(of: hazard, at: node.place)
            }
        }
    }

    /// Finds layers that are at fault wherever they stand.
    ///
    /// - Parameters:
    ///   - hazard: The hazard.
    ///   - severity: The severity of a finding.
    ///   - isFault: Returns whether a layer is at fault.
    ///   - consequence: The consequence, by the name of the layer.
    ///   - change: The change that mends it, by the name of the layer.
    /// - Returns: The rule.
    static func anywhere(
        _ hazard: Hazard, _ severity: Finding.Severity, where isFault: @escaping @Sendable (_ layer: Layer) -> Bool,
        consequence: @escaping @Sendable (_ layer: String) -> String,
        change: @escaping @Sendable (_ layer: String) -> String
    ) -> CompositionRule {
        each(hazard, where: isFault) { place, _, _ in
            Fault(severity: severity, consequence: consequence(place.quotedName), change: change(place.quotedName))
        }
    }

    /// The part of a finding that a rule of ``each(_:where:fault:)`` decides.
    struct Fault {
        private enum Change {
            case move(Finding.Move)
            case other(String)
        }

        private let severity: Finding.Severity
        private let others: [LayerPlace]
        private let consequence: String
        private let change: Change

        /// A fault that another setting, or another layer, mends.
        init(severity: Finding.Severity, others: [LayerPlace] = [], consequence: String, change: String) {
            self.severity = severity
            self.others = others
            self.consequence = consequence
            self.change = .other(change)
        }

        /// A fault that a new place of the layer mends.
        init(severity: Finding.Severity, others: [LayerPlace], consequence: String, move: Finding.Move) {
            self.severity = severity
            self.others = others
            self.consequence = consequence
            self.change = .move(move)
        }

        func finding(of hazard: Hazard, at place: LayerPlace) -> Finding {
            switch change {
            case .move(let move):
                Finding(hazard, severity, moving: place, to: move, because: others, consequence: consequence)
            case .other(let change):
                Finding(
                    hazard: hazard, severity: severity, places: [place] + others, consequence: consequence,
                    change: change, move: nil)
            }
        }
    }
}

extension Layer {
    func has(_ fact: Fact) -> Bool { facts.contains(fact) }

    var isTransport: Bool { role == .transport }
    /// Whether the layer sends again after a failure; a transport that does so is the transport's own affair.
    var retries: Bool { role == .resilience && has(.resends) }
    /// Whether the layer holds requests back, and neither sends again nor waits for the requests of others.
    var onlyWaits: Bool { role == .resilience && has(.waits) && !has(.resends) && !has(.sharesResponses) }
    /// Whether the layer ends what is inside of it at a deadline.
    var limitsTime: Bool { timeLimit != .unbounded && !isTransport }
    /// Whether that is the deadline of a call.
    var limitsCalls: Bool { limitsTime && !has(.limitsAttempts) }
}

extension Sequence<LayerPlace> {
    func contains(_ isWanted: (Layer) -> Bool) -> Bool { contains { isWanted($0.layer) } }

    func having(_ fact: Layer.Fact) -> [LayerPlace] { filter { $0.layer.has(fact) } }
}
