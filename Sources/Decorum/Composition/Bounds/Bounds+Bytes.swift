extension Bounds.Limit<Int> {
    /// The bytes that all layers hold at the same time.
    init(ofBytesIn layers: [Layer]) {
        let all = layers.flatMap(\.withBranches)
        let unbounded = all.filter { $0.bytes == nil }
        let holding = all.filter { $0.bytes != 0 }
        let total = all.reduce(into: Int?.some(0)) { total, layer in
            guard let sum = total, let bytes = layer.bytes else {
                total = nil
                return
            }
            let (next, overflows) = sum.addingReportingOverflow(bytes)
            total = overflows ? nil : next
        }
        value = total
        self.layers = unbounded.isEmpty ? holding : unbounded
        let parts = holding.compactMap { layer in layer.bytes.map { "\($0.byteText) by \(layer.name)" } }
        description =
            switch total {
            case nil: "One call may hold any number of bytes in memory, because of \(self.layers.faults)."
            case 0: "One call holds no content in memory."
            case .some(let total): "One call holds at most \(total.byteText) of content in memory: \(parts.listed)."
            }
    }
}

extension Layer {
    /// The number of bytes that the layer holds at most; nil for any number.
    fileprivate var bytes: Int? { isDeclared ? bytesHeld.value : nil }

    /// The layer, and those of its branches.
    var withBranches: [Layer] {
        [self] + branches.flatMap { $0.layers.flatMap(\.withBranches) }
    }
}

extension Int {
    /// The number of bytes, as in `900 bytes`, `64 KiB` or `51.5 MiB`, rounded up, since it is a bound.
    fileprivate var byteText: String {
        switch self {
        case ..<(1 << 10): "\(self) bytes"
        case ..<(1 << 20): "\(tenths(of: 1 << 10)) KiB"
        case ..<(1 << 30): "\(tenths(of: 1 << 20)) MiB"
        default: "\(tenths(of: 1 << 30)) GiB"
        }
    }

    private func tenths(of unit: Int64) -> String {
        let (whole, rest) = Int64(self).quotientAndRemainder(dividingBy: unit)
        let tenth = (rest * 10 + unit - 1) / unit
        return switch tenth {
        case 0: "\(whole)"
        case 10: "\(whole + 1)"
        default: "\(whole).\(tenth)"
        }
    }
}
