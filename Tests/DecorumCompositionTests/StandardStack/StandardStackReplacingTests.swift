import Decorum
import Testing

/// Parts of a standard stack in whose places other layers stand.
@Suite struct StandardStackReplacingTests {
    @Test func `The settings of a part that is replaced are not checked, and nothing that is passed for it is dropped`()
        throws
    {
        var stack = StandardStack(.tool, for: StandardStackTests.url)
        stack.caching = StandardStack.Caching(size: -1)
        stack.retries?.maximum = 0
        stack.time?.call = nil
        let plain: @Sendable (any Connection) -> any Connection = { $0 }
        #expect(throws: StackSettingsError.self) { try stack.composed(adding: [.inPlace(of: .caching, plain)]) }
        let parts: [StandardStack.Part] = [.caching, .retries]
        _ = try stack.composed(adding: parts.map { .inPlace(of: $0, plain) })
        // A limit of one's own stands for that of the settings.
        stack.retries?.maximum = 2
        _ = try stack.composed(adding: [.inPlace(of: .caching, plain), .inPlace(of: .callTime) { $0.limitingTime() }])

        // The limit of an attempt is left out with its part, whatever is replaced besides.
        stack.time = .init(call: .seconds(1), attempt: .seconds(2))
        _ = try stack.composed(
            adding: [StandardStack.Part.callTime, .attemptTime, .caching].map { .inPlace(of: $0, plain) })

        let error = #expect(throws: StackSettingsError.self) {
            try StandardStack(for: StandardStackTests.url).composed(
                authentication: .with(.bearer("t0ken")), principal: Principal("a"), store: MemoryResponseStore(),
                pauses: ServerPauses(), observer: ExchangeStatistics(), attemptObserver: ExchangeStatistics(),
                log: LogSink { _ in },
                adding: [
                    .inPlace(of: .authentication, plain), .inPlace(of: .principal, plain),
                    .inPlace(of: .caching, plain), .inPlace(of: .pacing, plain), .inPlace(of: .callObservation, plain),
                    .inPlace(of: .attemptObservation, plain), .inPlace(of: .callLog, plain),
                ])
        }
        #expect(
            error?.problems.map(\.path) == [
                "authentication", "principal", "store", "pauses", "observer", "attemptObserver", "log",
            ])
        #expect(
            error?.problems.first?.description
                == "`authentication` is not used, because a layer stands in place of `authentication`; pass it there")
    }
}
