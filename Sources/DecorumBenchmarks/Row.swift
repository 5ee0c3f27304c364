import Decorum
import DecorumProbe
import HTTPTypes

/// A measured operation, its baseline and its bounds.
struct Row: Sendable {
    let name: String
    /// The row of the same work without the addition of this row; the difference is the cost.
    var baseline: String?
    /// The number of layers among which the cost is divided.
    var layers = 1
    var bounds: [Bound] = []
    /// Performs the operation a number of times.
    let perform: @Sendable (_ count: Int) async throws -> Void
}

/// The largest acceptable value of a counted quantity.
struct Bound: Sendable, Codable {
    enum Quantity: String, Sendable, Codable {
        /// Instructions of one layer, beyond the baseline.
        case instructionsPerLayer
        /// Instructions of one request.
        case instructions
        /// Allocations of one layer, beyond the baseline.
        case allocationsPerLayer
        /// Allocations of one request.
        case allocations

        var isOfInstructions: Bool { self == .instructions || self == .instructionsPerLayer }
    }

    let quantity: Quantity
    let limit: Double
}

extension Bound {
    static func instructionsPerLayer(_ limit: Double) -> Bound { Bound(quantity: .instructionsPerLayer, limit: limit) }
    static func instructions(_ limit: Double) -> Bound { Bound(quantity: .instructions, limit: limit) }
    static func allocationsPerLayer(_ limit: Double) -> Bound { Bound(quantity: .allocationsPerLayer, limit: limit) }
    static func allocations(_ limit: Double) -> Bound { Bound(quantity: .allocations, limit: limit) }
}

extension Row {
    /// A row that sends a request through a connection.
    ///
    /// Generic, so that a stack whose type is known here is as fast as it can be.
    init(
        _ name: String, over baseline: String? = nil, layers: Int = 1, bounds: Bound...,
        sending request: Request, through connection: some Connection
    ) {
        self.init(name: name, baseline: baseline, layers: layers, bounds: bounds) { count in
            for _ in 0..<count { _ = try await connection.send(request) }
        }
    }
}
