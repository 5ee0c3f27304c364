extension CompositionRule {
    /// Calls that last too long, and waits at the wrong place.
    static let deadlines = [
        each(
            .unlimitedCall, where: \.retries,
            fault: { place, outer, inner in
                guard !outer.contains(\.retries), !outer.contains(\.limitsTime), !inner.contains(\.limitsCalls) else {
                    return nil
                }
                let outermost = outer.first { $0.layer.has(.resends) || $0.layer.has(.sharesResponses) } ?? place
                return Fault(
                    severity: .warning,
                    consequence:
                        "Nothing limits the time of a call: \(place.quotedName) waits and sends again however long "
                        + "each attempt has taken.",
                    change: "Write `.limitingTime()` below the line of \(outermost.quotedName).")
            }),
        each(
            .callLimitTooFarIn, where: \.limitsCalls,
            fault: { place, outer, _ in
                let others = outer.filter { $0.layer.retries || $0.layer.role == .redirection }
                guard let outermost = others.first, !outer.contains(\.limitsCalls) else { return nil }
                return Fault(
                    severity: .warning, others: others,
                    consequence:
                        "The time of \(place.quotedName) begins anew with each request of "
                        + "\(others.map(\.quotedName).listed), so that a call may take many times as long.",
                    move: .outside(of: outermost))
            }),
        each(
            .callLimitTooFarIn, where: \.limitsCalls,
            fault: { place, outer, _ in
                let others = outer.having(.sharesResponses)
                guard let outermost = others.first, !outer.contains(\.limitsCalls),
                    !outer.contains(where: { $0.layer.retries || $0.layer.role == .redirection })
                else { return nil }
                return Fault(
                    severity: .warning, others: others,
                    consequence:
                        "The time of \(place.quotedName) ends a request for which other callers of "
                        + "\(others.map(\.quotedName).listed) may still wait, and does not limit their wait for it.",
                    move: .outside(of: outermost))
            }),
        each(
            .longWait, where: { $0.retries || $0.onlyWaits },
            fault: { place, outer, _ in
                guard place.layer.longestWait.allows(longestUsualWait + .nanoseconds(1)), !outer.contains(\.limitsTime)
                else {
                    return nil
                }
                return Fault(
                    severity: .warning,
                    consequence: "\(place.quotedName) may let a call wait for \(place.layer.longestWait.text).",
                    change:
                        "Write `.limitingTime()` below the line of \(place.quotedName), or lower its longest wait."
                )
            }),
        tooFarOut(.attemptLimitOutsideOfRetries, .warning) { layer, other in
            layer.has(.limitsAttempts) && other.retries
        } consequence: { layer, others in
            "The time that \(layer) gives to an attempt limits the whole call, with all attempts and waits of \(others)."
        },
        each(
            .attemptLimitAboveCall, where: { $0.has(.limitsAttempts) },
            fault: { place, outer, _ in
                guard case .atMost(let time) = place.layer.timeLimit else { return nil }
                let calls = outer.filter {
                    $0.layer.limitsTime && !$0.layer.timeLimit.allows(time.bounded + .nanoseconds(1))
                }
                guard let call = calls.first else { return nil }
                return Fault(
                    severity: .warning, others: [call],
                    consequence:
                        "\(place.quotedName) never ends an attempt: the whole call, which layer \(call.number) "
                        + "limits, ends no later.",
                    change: "Give an attempt less time than the call.")
            }),
        each(
            .pausesOutsideOfRetries, where: \.onlyWaits,
            fault: { place, _, inner in
                let others = inner.filter { $0.layer.retries }
                // Another layer of this kind may hold the attempts back already; then one of the two is too many.
                guard let innermost = others.last,
                    !inner.contains(where: { $0.number > innermost.number && $0.layer.name == place.layer.name })
                else { return nil }
                return Fault(
                    severity: .warning, others: others,
                    consequence:
                        "Only the first attempt of \(others.map(\.quotedName).listed) waits in \(place.quotedName); the "
                        + "others are sent into the pause that the server asks for.",
                    move: .inside(of: innermost))
            }),
        tooFarOut(.pausesOutsideOfCache, .warning) { layer, other in
            layer.onlyWaits && other.role == .caching
        } consequence: { layer, others in
            "Requests that \(others) could answer without the server wait in \(layer) too."
        },
    ]

    /// The wait of a layer that needs no further limit.
    private static let longestUsualWait = Duration.seconds(300)
}

extension Layer.Bound<Duration> {
    fileprivate var text: String {
        switch self {
        case .atMost(let duration): "up to \(duration.formatted)"
        case .unbounded: "any time"
        }
    }
}

extension Duration {
    /// The duration in seconds, minutes or hours, rounded up, since it is a bound.
    fileprivate var formatted: String {
        let (whole, rest) = bounded.components
        let seconds = whole + (rest > 0 ? 1 : 0)
        return switch seconds {
        case ...120: "\(seconds) seconds"
        case ...7200: "\((seconds + 59) / 60) minutes"
        default: "\(seconds / 3600 + (seconds % 3600 > 0 ? 1 : 0)) hours"
        }
    }
}
