/// The parts of a stack that are no settings.
struct StackIngredients: Sendable {
    var authentication: StandardStack.Authentication?
    var principal: Principal?
    var store: (any ResponseStore)?
    var pauses: ServerPauses?
    var observer: (any CallObserver)?
    var attemptObserver: (any CallObserver)?
    var log: LogSink?
    var clock: any DatedClock = SystemClock()
    var generator: any RandomGenerator = SystemGenerator()
    var spawner: any TaskSpawner = SystemSpawner()

    /// The contradictions between settings and what is passed beside them.
    ///
    /// - Parameters:
    ///   - stack: The settings.
    ///   - replaced: The parts in whose places other layers stand.
    /// - Returns: The problems.
    func problems(
        with stack: StandardStack, replacing replaced: Set<StandardStack.Part>
    ) -> [StackSettingsError.Problem] {
        var problems: [StackSettingsError.Problem] = []
        let uses: [(name: String, isGiven: Bool, part: StandardStack.Part)] = [
            ("authentication", authentication != nil, .authentication), ("principal", principal != nil, .principal),
            ("store", store != nil, .caching), ("pauses", pauses != nil, .pacing),
            ("observer", observer != nil, .callObservation),
            ("attemptObserver", attemptObserver != nil, .attemptObservation),
        ]
        for use in uses where use.isGiven && replaced.contains(use.part) {
            problems.append(
                .init(use.name, "is not used, because a layer stands in place of `\(use.part.rawValue)`; pass it there")
            )
        }
        if let authentication, authentication.origins.isEmpty, stack.baseURL == nil, !replaced.contains(.authentication)
        {
            problems.append(.init("authentication", "has no origin; pass `for:` or set `baseURL`"))
        }
        if store != nil, stack.caching == nil, !replaced.contains(.caching) {
            problems.append(.init("store", "is not used, because `caching` is left out"))
        }
        if pauses != nil, stack.pacing == nil, !replaced.contains(.pacing) {
            problems.append(.init("pauses", "is not used, because `pacing` is left out"))
        }
        let logs = [(stack.callLog, StandardStack.Part.callLog), (stack.wireLog, .wireLog)]
        if log != nil, logs.allSatisfy({ $0.0 == nil || replaced.contains($0.1) }) {
            problems.append(.init("log", "is not used; set `callLog` or `wireLog`"))
        }
        return problems
    }
}
