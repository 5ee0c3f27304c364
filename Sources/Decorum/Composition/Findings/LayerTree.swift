/// The layers of a stack with those of its branches, each with the layers outside of it.
struct LayerTree: Sendable {
    struct Node: Sendable {
        let place: LayerPlace
        /// The indices of the layers that a request passes before this one, outermost first.
        let outer: [Int]
        /// The number of branches that the layer is inside of.
        let depth: Int
        /// The name of the branch whose outermost layer this is.
        let branch: String?

        var layer: Layer { place.layer }
    }

    /// All layers, each followed by those of its branches.
    private(set) var nodes: [Node] = []

    init(_ layers: [Layer]) {
        add(layers, inside: [], depth: 0, branch: nil)
    }

    private mutating func add(_ layers: [Layer], inside outer: [Int], depth: Int, branch: String?) {
        var outer = outer
        for (position, layer) in layers.enumerated() {
            let index = nodes.count
            let place = LayerPlace(number: index + 1, layer: layer)
            nodes.append(Node(place: place, outer: outer, depth: depth, branch: position == 0 ? branch : nil))
            for branch in layer.branches {
                // Requests that the layer sends on its own behalf have not passed the layers outside of it.
                let outer = branch.carriesRequests ? outer + [index] : []
                add(branch.layers, inside: outer, depth: depth + 1, branch: branch.name)
            }
            outer.append(index)
        }
    }

    /// The layers outside of a layer, outermost first.
    func layers(outsideOf node: Node) -> [LayerPlace] {
        node.outer.map { nodes[$0].place }
    }

    /// The layers inside of a layer, also on its branches, from the outside in.
    func layers(insideOf node: Node) -> [LayerPlace] {
        let index = node.place.number - 1
        return nodes.filter { $0.outer.contains(index) }.map(\.place)
    }
}
