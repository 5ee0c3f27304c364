#if CommandLine
import ArgumentParser
import Foundation

/// A time, as in `20`, `1.5s`, `200ms`, `5m` or `2h`; a number alone is of seconds.
struct TimeArgument: ExpressibleByArgument, Sendable, Hashable {
    let duration: Duration
    var seconds: Double { duration / .seconds(1) }

    init?(argument: String) {
        let units: KeyValuePairs = ["ms": 0.001, "s": 1, "m": 60, "h": 3600, "": 1]
        guard let (unit, factor) = units.first(where: { argument.hasSuffix($0.key) }),
            let number = Double(argument.dropLast(unit.count)), number >= 0, number * factor < 1e9
        else { return nil }
        duration = .milliseconds(Int64((number * factor * 1000).rounded()))
    }
}
#endif
