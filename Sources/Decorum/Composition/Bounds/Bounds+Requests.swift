extension Bounds.Limit<Int> {
    /// The number of requests over the network: the product along the stack, with the branches of a layer added up.
    init(ofRequestsIn layers: [Layer]) {
        let count = WorstRequests(of: layers[...])
        value = count.value
        self.layers = count.causes
        let factors = count.causes.map { "\($0.sends.upperBound) by \($0.name)" }
        description =
            switch value {
            case nil:
                "One call may send any number of requests over the network, because of \(count.causes.faults)."
            case 0: "One call sends no request over the network."
            case 1: "One call sends at most 1 request over the network."
            case .some(let value) where factors.isEmpty: "One call sends at most \(value) requests over the network."
            case .some(let value): "One call sends at most \(value) requests over the network: \(factors.listed)."
            }
    }
}

private struct WorstRequests {
    /// Nil for any number.
    var value: Int?
    /// The layers that send more than once; where there is no largest number, those that set none.
    var causes: [Layer] = []

    init(of layers: ArraySlice<Layer>) {
        guard let layer = layers.first else {
            value = 0
            return
        }
        let rest = layers.dropFirst()
        // The sends of a transport go over the network, and those of a layer that only has branches go to these.
        self = rest.isEmpty && layer.branches.isEmpty ? WorstRequests(value: 1) : WorstRequests(of: rest)
        for branch in layer.branches { add(WorstRequests(of: branch.layers[...])) }
        self.repeat(by: layer)
    }

    private init(value: Int) {
        self.value = value
    }

    private mutating func add(_ other: WorstRequests) {
        switch (value, other.value) {
        case (let one?, let two?):
            let (total, overflows) = one.addingReportingOverflow(two)
            (value, causes) = (overflows ? nil : total, causes + other.causes)
        case (nil, nil): causes += other.causes
        case (nil, _): break
        case (_, nil): self = other
        }
    }

    private mutating func `repeat`(by layer: Layer) {
        guard layer.isDeclared else {
            (value, causes) = (nil, [layer] + (value == nil ? causes : []))
            return
        }
        let sends = layer.sends.upperBound
        switch value {
        case _ where sends == 1, 0: break
        case _ where sends < 1: (value, causes) = (0, [])
        case _ where sends == .max: (value, causes) = (nil, [layer] + (value == nil ? causes : []))
        case nil: break
        case let once?:
            let (total, overflows) = once.multipliedReportingOverflow(by: sends)
            (value, causes) = (overflows ? nil : total, [layer] + causes)
        }
    }
}
