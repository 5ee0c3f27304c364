/// Layers that do the same work one inside of the other, found beside the other findings, which tell which one to keep.
struct RepetitionRules {
    let tree: LayerTree
    let others: [Finding]

    /// The findings about layers that are there more than once.
    static func findings(in tree: LayerTree, beside others: [Finding]) -> [Finding] {
        let rules = RepetitionRules(tree: tree, others: others)
        return rules.multiplied + rules.products + RepeatedKind.all.flatMap(rules.repeated)
    }

    /// Retries around retries.
    private var multiplied: [Finding] {
        tree.nodes.compactMap { node in
            guard node.layer.retries, !tree.layers(outsideOf: node).contains(\.retries) else { return nil }
            let inner = tree.layers(insideOf: node).filter { $0.layer.retries }
            guard !inner.isEmpty else { return nil }
            let all = [node.place] + inner
            let kept = kept(of: node.place, or: inner)
            let removed = all.filter { !kept.contains($0) }
            // One budget for all of them ends the multiplication soon.
            let state = inner.reduce(node.layer.sharedState) { $0.intersection($1.layer.sharedState) }
            let sends = tree.mostSends().map { "\($0) times" } ?? "without a limit"
            let needed = tree.mostSends(without: removed).map { " in place of \($0)" } ?? ""
            return Finding(
                hazard: .retriesMultiply, severity: state.isEmpty ? .warning : .information, places: all,
                consequence: "\(all.map(\.quotedName).listed) multiply: one call may be sent \(sends)\(needed).",
                change: "Keep \(kept.map(\.quotedName).listed), and remove \(removed.map(\.quotedName).listed).",
                move: nil)
        }
    }

    /// Layers of other roles that send often, around each other or around retries.
    private var products: [Finding] {
        tree.nodes.compactMap { node in
            guard node.layer.multiplies, !tree.layers(outsideOf: node).contains(\.multiplies) else { return nil }
            let all = [node.place] + tree.layers(insideOf: node).filter { $0.layer.multiplies }
            guard all.count > 1, !all.allSatisfy(\.layer.retries) else { return nil }
            let product = tree.mostSends(without: tree.nodes.map(\.place).filter { !all.contains($0) })
            if let product, product <= 30 { return nil }
            let sends = tree.mostSends().map { "\($0) times" } ?? "without a limit"
            return Finding(
                hazard: .manySends, severity: .warning, places: all,
                consequence: "\(all.map(\.quotedName).listed) multiply: one call may be sent \(sends).",
                change: "Lower the limit of one of them.", move: nil)
        }
    }

    /// Retries that stay: the one with the fewest findings about its place, or the outermost one where the others are on
    /// different branches.
    private func kept(of outermost: LayerPlace, or inner: [LayerPlace]) -> [LayerPlace] {
        let isChain = zip(inner, inner.dropFirst()).allSatisfy { tree.isInside($1, of: $0) }
        guard isChain else {
            return faults(of: outermost) <= (inner.map(faults).max() ?? 0) ? [outermost] : inner
        }
        // With the innermost of those without a difference, the layers between run once for a call.
        let best = ([outermost] + inner).reversed().min { faults(of: $0) < faults(of: $1) }
        return best.map { [$0] } ?? []
    }

    /// The number of findings that want a layer, or another one because of it, at another place.
    private func faults(of place: LayerPlace) -> Int {
        others.count { $0.move != nil && $0.places.contains(place) }
    }

    /// Pairs of layers of one kind, of which a request passes the one before the other.
    private func repeated(_ kind: RepeatedKind) -> [Finding] {
        tree.nodes.compactMap { node in
            guard kind.includes(node.layer) else { return nil }
            let inner = tree.layers(insideOf: node).first { other in
                other.layer.name == node.layer.name && kind.includes(other.layer)
                    && (kind.mayShareState || other.layer.sharedState.isDisjoint(with: node.layer.sharedState))
            }
            guard let inner else { return nil }
            let outer = node.place
            let (outerFaults, innerFaults) = (faults(of: outer), faults(of: inner))
            let keepsOuter = outerFaults == innerFaults ? kind.keepsOuter : outerFaults < innerFaults
            let (kept, removed) = keepsOuter ? (outer, inner) : (inner, outer)
            return Finding(
                hazard: .layerTwice, severity: kind.severity, places: [removed, kept],
                consequence: kind.consequence(outer.quotedName, inner.quotedName),
                change: "Keep \(kept.quotedName), and remove \(removed.quotedName).", move: nil)
        }
    }
}

extension Layer {
    /// Whether the layer sends often, besides redirections and validations.
    ///
    /// A layer that sends twice corrects a request, as with a new token or without a coding.
    fileprivate var multiplies: Bool {
        retries || !isTransport && role != .redirection && role != .caching && sends.upperBound > 2
    }
}

/// A kind of layers of which one is enough.
private struct RepeatedKind: Sendable {
    let severity: Finding.Severity
    let keepsOuter: Bool
    /// Whether two layers with one state are told of here, and not by the rule about shared state.
    var mayShareState = true
    let includes: @Sendable (_ layer: Layer) -> Bool
    let consequence: @Sendable (_ outer: String, _ inner: String) -> String

    static let all = [
        RepeatedKind(severity: .warning, keepsOuter: true) {
            $0.role == .redirection && $0.has(.resends)
        } consequence: { outer, inner in
            "\(inner) follows redirections before \(outer) sees them, so that the limit and the policy of \(outer) do not "
                + "apply to them."
        },
        RepeatedKind(severity: .warning, keepsOuter: false) {
            $0.onlyWaits
        } consequence: { outer, inner in
            "A request waits in \(outer), and may have to wait again in \(inner)."
        },
        RepeatedKind(severity: .information, keepsOuter: true) {
            !$0.isTransport && $0.has(.decodesContent)
        } consequence: { outer, inner in
            "\(inner) decodes the content before \(outer) sees it, and \(outer) chooses the codings that are asked for."
        },
        RepeatedKind(severity: .information, keepsOuter: true) {
            $0.role == .validation
        } consequence: { outer, inner in
            "\(inner) throws for a status before \(outer) sees the response, so that only statuses that both accept are "
                + "returned."
        },
        RepeatedKind(severity: .warning, keepsOuter: true) {
            $0.role == .resilience && $0.has(.sharesResponses)
        } consequence: { outer, inner in
            "\(outer) has made one request of equal ones before they reach \(inner), and both hold what a slow reader has "
                + "not read yet."
        },
        RepeatedKind(severity: .information, keepsOuter: true, mayShareState: false) {
            $0.role == .caching && $0.has(.sharesResponses)
        } consequence: { outer, inner in
            "\(outer) and \(inner) store each response twice, and \(inner) answers only where \(outer) has nothing."
        },
    ]
}
