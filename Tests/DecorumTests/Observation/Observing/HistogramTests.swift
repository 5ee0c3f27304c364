import DecorumTesting
import Testing

@testable import Decorum

@Suite struct HistogramTests {
    @Test func `Extreme durations count as the nearest bound`() {
        var histogram = Histogram()
        histogram.record(.seconds(-5))
        histogram.record(Duration(secondsComponent: .min, attosecondsComponent: 0))
        #expect(histogram.percentile(1) == .zero)

        histogram.record(Duration(secondsComponent: .max, attosecondsComponent: 0))
        #expect(histogram.percentile(1).map { $0 > .seconds(60_000) } == true)
        #expect(histogram.count == 3)
    }

    @Test(arguments: [UInt64(1), 2, 3, 4])
    func `Percentiles are within one percent of the exact ones`(seed: UInt64) throws {
        let generator = SeededGenerator(seed: seed)
        var histogram = Histogram()
        var durations: [Int] = []
        for _ in 0..<20_000 {
            // The logarithms are uniform from a microsecond to an hour.
            let magnitude = generator.next() % 32
            let microseconds = Int(generator.next() % (1 << magnitude) + (1 << magnitude))
            durations.append(microseconds)
            histogram.record(.microseconds(microseconds))
        }
        durations.sort()

        for share in [0.01, 0.1, 0.5, 0.9, 0.99, 0.999] {
            let exact = Double(durations[Int((share * 20_000).rounded(.up)) - 1])
            let estimate = try #require(histogram.percentile(share)) / .microseconds(1)
            #expect(abs(estimate - exact) <= exact * 0.01)
        }
    }
}
