import Foundation

/// Everything that was measured.
struct Report: Encodable {
    var system = ProcessInfo.processInfo.operatingSystemVersionString
    var processors = ProcessInfo.processInfo.activeProcessorCount
    var readings: [Reading] = []
    var caller: [CallerReading] = []
    var cassettes: [CassetteReading] = []
    var stores: [StoreReading] = []
    var transports: [TransportReading] = []

    var failures: [String] {
        readings.flatMap { reading in reading.failures.map { "\(reading.name): \($0)" } }
            + caller.flatMap { reading in reading.failures.map { "\(reading.name): \($0)" } }
    }

    var json: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return try encoder.encode(self)
        }
    }
}
