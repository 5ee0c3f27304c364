import Decorum
import Foundation
import Testing

/// RFC 9110, section 10.2.3.
@Suite struct RetryAfterTests {
    @Test(arguments: [
        ("0", Duration.zero), ("120", .seconds(120)), ("007", .seconds(7)), ("2147483648", .seconds(1 << 31)),
        ("99999999999999999999999999", .seconds(1 << 31)), ("Sun, 06 Nov 1994 08:49:37 GMT", .seconds(30)),
        ("Sunday, 06-Nov-94 08:49:37 GMT", .seconds(30)), ("Sun Nov  6 08:49:37 1994", .seconds(30)),
        ("Fri, 31 Dec 9999 23:59:59 GMT", .seconds(1 << 31)),
    ])
    func `Seconds and dates give a delay`(value: String, delay: Duration) throws {
        let retryAfter = try #require(RetryAfter(value, at: Self.now))

        #expect(retryAfter.delay(from: Self.now) == delay)
    }

    @Test(arguments: ["", " ", "-1", "+1", "1.5", "1e3", "0x10", "1 2", "12s", "soon", "١٢", "1,2", "NaN", "inf"])
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
