extension Bounds.Limit<Duration> {
    /// The time until the head of the response: the waits and the sends of each layer, up to its time limit.
    init(ofDurationIn layers: [Layer]) {
        let time = WorstDuration(of: layers[...], within: nil)
        value = time.value
        self.layers = time.causes
        description =
            switch value {
            case .none: "One call may take any time until the head of its response, because of \(time.causes.faults)."
            case .some(.zero): "One call takes no time until the head of its response."
            case .some(let value):
                "One call takes at most \(value.shortTextOfBound) until the head of its response, because of "
                    + "\(time.causes.map(\.name).listed)."
            }
    }
}

private struct WorstDuration {
    /// Nil for any time.
    private(set) var value: Duration? = .zero
    /// The layers that let time pass or limit it; where there is no limit, those that set none.
    private(set) var causes: [Layer] = []

    /// - Parameters:
    ///   - layers: The layers, outermost first.
    ///   - deadline: The time that the layers further out leave; nil for any.
    init(of layers: ArraySlice<Layer>, within deadline: Duration?) {
        guard let layer = layers.first else { return }
        let limit = layer.timeLimit.value?.asLimit
        let rest = layers.dropFirst()
        guard !rest.isEmpty || !layer.branches.isEmpty else {
            // A transport takes any time, unless it declares a limit.
            (value, causes) = (limit, limit == .zero ? [] : [layer])
            return
        }
        let left = [deadline, limit].compactMap(\.self).min()
        self = WorstDuration(of: rest, within: left)
        for branch in layer.branches { add(WorstDuration(of: branch.layers[...], within: left)) }
        pass(layer, adding: layer.ownTime(within: left))
        if let limit, value.map({ $0 > limit }) ?? true { (value, causes) = (limit, [layer]) }
    }

    private mutating func add(_ other: WorstDuration) {
        switch (value, other.value) {
        case (let one?, let two?): (value, causes) = (one + two, causes + other.causes)
        case (nil, nil): causes += other.causes
        case (nil, _): break
        case (_, nil): self = other
        }
    }

    /// Adds a layer that sends what is further in as often as it may, and takes time of its own.
    private mutating func pass(_ layer: Layer, adding own: Duration?) {
        let sends = layer.sends.upperBound
        if sends == 0 { (value, causes) = (.zero, []) }
        let inner = causes
        let repeated = value.map { once in
            // Beyond that, a product would overflow.
            once == .zero || sends < 1 << 30 && once < .seconds(1 << 30) ? once * min(sends, 1 << 30) : nil
        }
        if let repeated = repeated.flatMap(\.self), let own {
            causes = (own > .zero || sends > 1 && repeated > .zero ? [layer] : []) + inner
            value = repeated + own
        } else {
            let isCause = own == nil || repeated == .some(nil)
            causes = (isCause ? [layer] : []) + (value == nil ? inner : [])
            value = nil
        }
    }
}

extension Layer {
    /// Returns the time that a layer itself adds to a request; nil for any.
    ///
    /// - Parameter deadline: The time that is left for the request; nil for any.
    /// - Returns: The time.
    fileprivate func ownTime(within deadline: Duration?) -> Duration? {
        guard isDeclared, var wait = longestWait.value?.asLimit, let reading = longestReading.value?.asLimit else {
            return nil
        }
        // Such a layer waits for as long as the deadline allows, also beyond its own limit.
        if facts.contains(.waitsUntilDeadline), let deadline { wait = max(wait, deadline) }
        return wait + reading
    }
}

extension Duration {
    /// The duration as short text that is not below it.
    fileprivate var shortTextOfBound: String {
        let unit: Duration =
            switch components.seconds {
            case 172_800...: .seconds(86_400)
            case 7_200...: .seconds(3_600)
            case 600...: .seconds(60)
            case 1...: .milliseconds(10)
            default: .microseconds(100)
            }
        let (whole, rest) = components.seconds.quotientAndRemainder(dividingBy: max(1, unit.components.seconds))
        guard unit < .seconds(1) else {
            let isExact = rest == 0 && components.attoseconds == 0
            return (unit * (whole + (isExact ? 0 : 1))).shortText
        }
        let step = unit.components.attoseconds
        let steps = (components.attoseconds + step - 1) / step
        return (.seconds(components.seconds) + unit * steps).shortText
    }
}
