extension Bounds.Limit<Int> {
    /// The bytes that all layers hold at the same time.
    init(ofBytesIn layers: [Layer]) {
        let all = layers.flatMap(\.withBranches)
        let unbounded = all.filter { $0.bytesHeld == .unbounded }
        let holding = all.filter { $0.bytesHeld != .atMost(0) }
        let total = all.reduce(into: Int?.some(0)) { total, layer in
            guard let sum = total, let bytes = layer.bytesHeld.value else {
                total = nil
                return
            }
            let (next, overflows) = sum.addingReportingOverflow(bytes)
            total = overflows ? nil : next
        }
        value = total
        self.layers = unbounded.isEmpty ? holding : unbounded
        let parts = holding.compactMap { layer in layer.bytesHeld.value.map { "\($0.byteText) by \(layer.name)" } }
        description =
            switch total {
            case nil: "One call may hold any number of bytes in memory, because of \(self.layers.map(\.name).listed)."
            case 0: "One call holds no content in memory."
            case .some(let total): "One call holds at most \(total.byteText) of content in memory: \(parts.listed)."
            }
    }
}

extension Layer {
    /// The layer, and those of its branches.
    fileprivate var withBranches: [Layer] {
        [self] + branches.flatMap { $0.layers.flatMap(\.withBranches) }
    }
}

extension Int {
    /// The number of bytes, as in `900 bytes`, `64 KiB` or `51.5 MiB`.
    fileprivate var byteText: String {
        switch self {
        case ..<(1 << 10): "\(self) bytes"
        case ..<(1 << 20): "\(tenths(of: 1 << 10)) KiB"
        case ..<(1 << 30): "\(tenths(of: 1 << 20)) MiB"
        default: "\(tenths(of: 1 << 30)) GiB"
        }
    }

    private func tenths(of unit: Int) -> String {
        let (whole, rest) = quotientAndRemainder(dividingBy: unit)
        let tenth = rest * 10 / unit
        return tenth == 0 ? "\(whole)" : "\(whole).\(tenth)"
    }
}
