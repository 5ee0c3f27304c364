import Decorum
import DecorumTraffic

/// The listings of the documentation about circuits and second requests.
enum CircuitListings {
    static func policy() throws -> any Connection {
        let connection = SystemConnection()
            .breakingCircuits(CircuitPolicy(opensAfter: .ratio(0.5, ofAtLeast: 20, within: .seconds(30))))
            .retrying()
        return connection
    }

    static func breakers() throws -> any Connection {
        let breakers = CircuitBreakers { circuit in print(circuit) }
        let connection = SystemConnection()
            .breakingCircuits(in: breakers)
        return connection
    }

    static func hedging() throws -> any Connection {
        let connection = SystemConnection()
            .hedging(HedgingPolicy(percentile: 0.95, largestShare: 0.05))
            .retrying()
        return connection
    }
}
