extension CacheDecision {
    /// The decision with its reason, for the context of a call.
    func told(by mode: CacheMode) -> CallDecision {
        switch self {
        case .serve(_, _, let timeToLive):
            CallDecision(
                .answers, by: mode.layerName,
                timeToLive > 0
                    ? "with a response that is fresh for \(Self.words(timeToLive))"
                    : "with a response that is stale for \(Self.words(-timeToLive)), as the request accepts")
        case .serveStale(_, _, let timeToLive):
            .staleAnswer(by: mode, staleFor: -timeToLive, validation: .begins)
        case .refuse(let cause):
            CallDecision(.answers, by: mode.layerName, "504, because of only-if-cached; \(Self.words(cause))")
        case .validate(_, let cause, _):
            CallDecision(
                .forwards, by: mode.layerName, "asks whether a stored response is current; \(Self.words(cause))")
        case .complete:
            CallDecision(.forwards, by: mode.layerName, "asks for the rest of a stored part")
        case .forward(let cause, _):
            CallDecision(.forwards, by: mode.layerName, Self.words(cause))
        }
    }

    private static func words(_ cause: ForwardCause) -> String { cause.detail ?? "nothing is stored" }

    fileprivate static func words(_ seconds: Double) -> String { "\(Int64(max(0, min(seconds, 0x1p31)))) s" }
}

extension CallDecision {
    /// The decision to answer with a stale response, which is validated in the background or will be.
    static func staleAnswer(
        by mode: CacheMode, staleFor seconds: Double, validation: BackgroundValidations.Beginning
    ) -> CallDecision {
        CallDecision(
            .answers, by: mode.layerName,
            "with a response that is stale for \(CacheDecision.words(seconds)), \(validation.words)")
    }
}

extension CacheMode {
    /// The name of the layer that works in this mode.
    var layerName: String { self == .validating ? "revalidating" : "caching" }
}
