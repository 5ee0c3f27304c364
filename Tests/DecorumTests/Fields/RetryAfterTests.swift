import Decorum
import DecorumTestSupport
import Foundation
import Testing

/// RFC 9110, section 10.2.3.
@Suite struct RetryAfterTests {
    struct Delay: Decodable, Sendable {
        let value: String
        let seconds: Int
    }

    @Test(arguments: try Fixtures.rows("tables/retry-after/valid.json", of: Delay.self))
    func `Seconds and dates give a delay`(row: Delay) throws {
        let retryAfter = try #require(RetryAfter(row.value, at: Self.now))

        #expect(retryAfter.delay(from: Self.now) == .seconds(row.seconds))
    }

    @Test(arguments: try Fixtures.rows("tables/retry-after/invalid.json", of: String.self))
    func `Other values are not parsed`(value: String) {
        #expect(RetryAfter(value, at: Self.now) == nil)
    }

    @Test func `A date in the past gives no delay`() throws {
        let retryAfter = try #require(RetryAfter("Sun, 06 Nov 1994 08:49:00 GMT", at: Self.now))

        #expect(retryAfter.delay(from: Self.now) == nil)
    }

    /// 30 seconds before the date of the RFC's examples.
    private static let now = Date(timeIntervalSince1970: 784_111_747)
}
