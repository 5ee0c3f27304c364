extension RequestOptions {
    /// The clock that ``deadline`` and ``bodyDeadline`` are instants of, if it skips waits; nil for the time of the machine.
    ///
    /// ``Connection/limitingTime(_:clock:)`` sets it. See ``moveDeadlinesToMachineTime()``.
    public var skippingClock: (any DatedClock)? {
        get { self[SkippingClockKey.self] }
        set { self[SkippingClockKey.self] = newValue }
    }

    /// Makes deadlines that are instants of a clock which skips waits instants of the time of the machine.
    ///
    /// Such a clock stands still while a server works, so its deadlines would pass too early for a transport that sends. A
    /// connection that takes requests of a test to a server calls this, as a cassette does while it records.
    public mutating func moveDeadlinesToMachineTime() {
        guard let clock = skippingClock else { return }
        let passed = clock.now.duration(to: ContinuousClock.now)
        deadline = deadline?.advanced(by: passed)
        bodyDeadline = bodyDeadline?.advanced(by: passed)
        skippingClock = nil
    }
}

private enum SkippingClockKey: RequestOptionKey {
    static let defaultValue: (any DatedClock)? = nil
    static let travels = OptionTravel.call
}
