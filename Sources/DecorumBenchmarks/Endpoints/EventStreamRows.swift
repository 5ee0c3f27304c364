import DecorumEndpoints
import Foundation

/// The cost of reading a mebibyte of server-sent events, in chunks as those of a network.
enum EventStreamRows {
    private static let length = 1 << 20

    static func rows() -> [Row] {
        [row("events/1 MiB in short events", dataLength: 120), row("events/1 MiB in long events", dataLength: 4000)]
    }

    private static func row(_ name: String, dataLength: Int) -> Row {
        let chunks = chunks(dataLength: dataLength)
        return Row(name: name) { count in
            for _ in 0..<count {
                var parser = EventStreamParser()
                var bytes = 0
                for chunk in chunks {
                    parser.append(chunk)
                    while let event = try parser.next() { bytes += event.data.utf8.count }
                }
                guard bytes > length / 2 else { throw BenchmarkFailure("\(bytes) bytes were read.") }
            }
        }
    }

    private static func chunks(dataLength: Int) -> [Data] {
        let words = String(repeating: "the next words of an answer ", count: dataLength / 28)
        var text = ""
        var number = 0
        while text.utf8.count < length {
            number += 1
            text += "id: \(number)\nevent: delta\ndata: \(words)\n\n"
        }
        let bytes = Data(text.utf8.prefix(length))
        return stride(from: 0, to: length, by: 16 << 10).map { Data(bytes[$0..<min($0 + (16 << 10), length)]) }
    }
}
