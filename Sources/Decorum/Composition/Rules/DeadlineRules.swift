extension CompositionRule {
    /// Calls that last too long, and waits at the wrong place.
    static let deadlines = [
        each(
            .unlimitedCall, where: \.retries,
            fault: { place, outer, inner in
                guard !outer.contains(\.limitsTime), !inner.contains(\.limitsCalls) else { return nil }
                return Fault(
                    severity: .warning,
                    consequence:
                        "Nothing limits the time of a call: \(place.layer.quotedName) waits and sends again however long "
                        + "each attempt has taken.",
                    change:
                        "Write `.limitingTime()` below the lines of \(place.layer.quotedName) and of what else sends again."
                )
            }),
        each(
            .callLimitTooFarIn, where: \.limitsCalls,
            fault: { place, outer, _ in
                let others = outer.filter { $0.layer.retries || $0.layer.role == .redirection }
                guard let outermost = others.first, !outer.contains(\.limitsTime) else { return nil }
                let name = place.layer.quotedName
                return Fault(
                    severity: .warning, others: others,
                    consequence:
                        "The time of \(name) begins anew with each request of \(others.map(\.layer.quotedName).listed), so that "
                        + "a call may take many times as long.",
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
                    consequence: "\(place.layer.quotedName) may let a call wait for \(place.layer.longestWait.text).",
                    change:
                        "Write `.limitingTime()` below the line of \(place.layer.quotedName), or lower its longest wait."
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
                let calls = outer.filter { $0.layer.limitsTime && !$0.layer.timeLimit.allows(time + .nanoseconds(1)) }
                guard let call = calls.first else { return nil }
                return Fault(
                    severity: .warning, others: [call],
                    consequence:
                        "\(place.layer.quotedName) never ends an attempt: the whole call, which layer \(call.number) "
                        + "limits, ends no later.",
                    change: "Give an attempt less time than the call.")
            }),
        tooFarOut(.pausesOutsideOfRetries, .warning) { layer, other in
            layer.onlyWaits && other.retries
        } consequence: { layer, others in
            "Only the first attempt of \(others) waits in \(layer); the others are sent into the pause that the server asks for."
        },
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
    /// The duration in whole seconds, minutes or hours.
    fileprivate var formatted: String {
        switch components.seconds {
        case ..<120: "\(components.seconds) seconds"
        case ..<7200: "\(components.seconds / 60) minutes"
        default: "\(components.seconds / 3600) hours"
        }
    }
}
