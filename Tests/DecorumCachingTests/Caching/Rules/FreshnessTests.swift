import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// RFC 9111, sections 4.2 and 5.2.2; the responses are received on Sun, 09 Sep 2001 01:46:40 GMT.
@Suite struct FreshnessTests {
    private func freshness(_ fields: String, status: Int = 200, delay: Double = 0) -> Freshness {
        Freshness(
            StoredPage.head(fields, status: status), requestDate: StoredPage.date.addingTimeInterval(-delay),
            date: StoredPage.date)
    }

    static let lifetimes: [(String, Double)] = [
        ("", 0), ("Cache-Control: max-age=60", 60), ("Cache-Control: MAX-AGE=60", 60),
        ("Cache-Control: max-age=\"60\"", 60), ("Cache-Control: max-age=060", 60),
        ("Cache-Control: max-age=60, max-age=5", 60), ("Cache-Control: public | Cache-Control: max-age=60", 60),
        ("Cache-Control: extension=\"max-age=5\", max-age=60", 60), ("Cache-Control: unclosed=\"a, max-age=60", 60),
        ("Cache-Control: xmax-age=60", 0), ("Cache-Control: s-maxage=60", 0), ("Cache-Control: max-age", 0),
        ("Cache-Control: max-age=", 0), ("Cache-Control: max-age=-1", 0), ("Cache-Control: max-age=+60", 0),
        ("Cache-Control: max-age=1.5", 0), ("Cache-Control: max-age=a", 0),
        ("Cache-Control: max-age=9223372036854775808", 2_147_483_648),
        ("Cache-Control: max-age=99999999999999999999999999", 2_147_483_648),
        ("Cache-Control: max-age=0 | Expires: Sun, 09 Sep 2001 01:47:40 GMT", 0),
        ("Cache-Control: max-age=a | Expires: Sun, 09 Sep 2001 01:47:40 GMT", 0),
        ("Expires: Sun, 09 Sep 2001 01:47:40 GMT", 60), ("Expires: Sunday, 09-Sep-01 01:47:40 GMT", 60),
        ("Expires: Sun Sep  9 01:47:40 2001", 60),
        ("Expires: Sun, 09 Sep 2001 01:47:40 GMT | Date: Sun, 09 Sep 2001 01:46:30 GMT", 70),
        ("Expires: Sun, 09 Sep 2001 01:47:40 GMT | Date: Sun, 09 Sep 2001 01:50:00 GMT", 0),
        ("Expires: Sun, 09 Sep 2001 01:47:40 GMT | Date: yesterday", 60),
        ("Expires: Sun, 09 Sep 2001 01:47:40 UTC", 0), ("Expires: 0", 0),
        ("Expires: 0 | Date: Fri, 01 Jan 1960 00:00:00 GMT", 0),
        ("Expires: -1 | Last-Modified: Sun, 09 Sep 2001 01:45:00 GMT", 0),
        ("Expires: Sun, 09 Sep 2001 01:47:40 GMT | Expires: Sun, 09 Sep 2001 01:47:50 GMT", 0),
        ("Last-Modified: Sun, 09 Sep 2001 01:45:00 GMT", 10),
        ("Last-Modified: Sun, 09 Sep 2001 01:45:00 GMT | Date: Sun, 09 Sep 2001 01:46:20 GMT", 8),
        ("Last-Modified: Sun, 09 Sep 2001 01:45:00 GMT | Cache-Control: no-cache", 10),
        ("Last-Modified: Sun, 09 Sep 2001 01:47:00 GMT", 0), ("Last-Modified: long ago", 0),
        ("Last-Modified: Sat, 09 Sep 2000 01:46:40 GMT", 86_400),
    ]

    @Test(arguments: lifetimes)
    func `The fields of a response give its freshness lifetime`(fields: String, lifetime: Double) {
        #expect(freshness(fields).lifetime(guessing: .standard) == lifetime)
    }

    static let guesses: [(Int, String, Double)] = [
        (200, "", 10), (203, "", 10), (204, "", 10), (206, "", 10), (300, "", 10), (301, "", 10), (308, "", 10),
        (404, "", 10), (405, "", 10), (410, "", 10), (414, "", 10), (501, "", 10),
        (201, "", 0), (302, "", 0), (307, "", 0), (400, "", 0), (403, "", 0), (500, "", 0), (503, "", 0), (599, "", 0),
        (302, "public", 10), (599, "public", 10), (302, "private", 0),
    ]

    @Test(arguments: guesses)
    func `A heuristic lifetime applies to statuses that allow it, and to public responses`(
        status: Int, control: String, lifetime: Double
    ) {
        let fields = "Last-Modified: Sun, 09 Sep 2001 01:45:00 GMT | Cache-Control: \(control)"
        #expect(freshness(fields, status: status).lifetime(guessing: .standard) == lifetime)
    }

    @Test(arguments: [(Double.nan, 0), (-1, 0), (0, 0), (.infinity, 86_400), (1e300, 86_400), (0.5, 50)])
    func `An invalid heuristic factor gives no lifetime or the longest`(factor: Double, lifetime: Double) {
        var policy = CachingPolicy()
        policy.heuristicFraction = factor
        let modified = freshness("Last-Modified: Sun, 09 Sep 2001 01:45:00 GMT")
        #expect(modified.lifetime(guessing: policy) == lifetime)

        let justModified = freshness("Last-Modified: Sun, 09 Sep 2001 01:46:40 GMT").lifetime(guessing: policy)
        #expect(justModified == 0)
    }

    @Test func `A negative limit gives no heuristic lifetime`() {
        var policy = CachingPolicy()
        policy.heuristicLimit = .seconds(-5)
        #expect(freshness("Last-Modified: Sun, 09 Sep 2001 01:45:00 GMT").lifetime(guessing: policy) == 0)
    }

    static let ages: [(String, Double, Double, Double)] = [
        ("", 0, 0, 0), ("", 0, 10, 10), ("", 5, 10, 15), ("", -5, 10, 10), ("Age: 30", 0, 10, 40),
        ("Age: 30", 5, 10, 45), ("Age: 030", 0, 0, 30), ("Age: 30, 40", 0, 0, 30), ("Age: 30 | Age: 40", 0, 0, 30),
        ("Age: a, 40", 0, 0, 0), ("Age: -30", 0, 0, 0), ("Age: 1.5", 0, 0, 0), ("Age: 30;x=1", 0, 0, 0),
        ("Age: 99999999999999999999", 0, 0, 2_147_483_648), ("Date: Sun, 09 Sep 2001 01:45:00 GMT", 0, 10, 110),
        ("Date: Sun, 09 Sep 2001 01:45:00 GMT", 5, 10, 110),
        ("Date: Sun, 09 Sep 2001 01:45:00 GMT | Age: 30", 5, 10, 110),
        ("Date: Sun, 09 Sep 2001 01:45:00 GMT | Age: 200", 5, 10, 215),
        ("Date: Sun, 09 Sep 2001 01:50:00 GMT", 0, 10, 10), ("Date: never | Age: 30", 0, 10, 40), ("", 0, -50, 50),
    ]

    @Test(arguments: ages)
    func `The age adds that of earlier caches, the delay and the resident time`(
        fields: String, delay: Double, later: Double, age: Double
    ) {
        let stored = StoredResponse(
            head: StoredPage.head(fields), body: .empty, selectingFields: [:],
            requestDate: StoredPage.date.addingTimeInterval(-delay), date: StoredPage.date)
        #expect(stored.age(at: StoredPage.date.addingTimeInterval(later)) == age)
    }

    @Test func `A fraction of a second that the Date field cannot express does not add to the age`() {
        let received = StoredPage.date.addingTimeInterval(0.75)
        let freshness = Freshness(
            StoredPage.head("Date: Sun, 09 Sep 2001 01:46:40 GMT"), requestDate: received, date: received)
        #expect(freshness.initialAge == 0)
    }

    static let restrictions: [(String, Bool, Bool)] = [
        ("", false, false), ("Cache-Control: must-revalidate", false, true),
        ("Cache-Control: Must-Revalidate=x", false, true), ("Cache-Control: proxy-revalidate", false, false),
        ("Cache-Control: no-cache", true, true), ("Cache-Control: max-age=60, no-cache", true, true),
        ("Cache-Control: a=\"no-cache\"", false, false), ("Cache-Control: no-cache=\"Set-Cookie\"", false, false),
        ("Cache-Control: no-cache=Set-Cookie", false, false), ("Cache-Control: no-cache=\"\"", true, true),
        ("Cache-Control: no-cache=", true, true), ("Cache-Control: no-cache=\" , \"", true, true),
        ("Cache-Control: no-cache=\"not a name\"", true, true),
        ("Cache-Control: no-cache=\"Set-Cookie\", no-cache", true, true), ("Pragma: no-cache", true, true),
        ("Pragma: x, No-Cache", true, true), ("Pragma: no-cache | Cache-Control: max-age=60", false, false),
        ("Pragma: other", false, false),
    ]

    @Test(arguments: restrictions)
    func `A response declares if it is always validated, and if it is ever used stale`(
        fields: String, needsValidation: Bool, forbidsStale: Bool
    ) {
        let freshness = freshness(fields)
        #expect(freshness.needsValidation == needsValidation)
        #expect(freshness.forbidsStale == forbidsStale)
    }

    @Test func `Extensions are read`() {
        let extended = freshness("Cache-Control: immutable, stale-while-revalidate=5, stale-if-error=7")
        #expect(extended.isImmutable)
        #expect(extended.staleWhileRevalidate == 5)
        #expect(extended.staleIfError == 7)

        let invalid = freshness("Cache-Control: stale-while-revalidate, stale-if-error=-7")
        #expect(!invalid.isImmutable)
        #expect(invalid.staleWhileRevalidate == 0)
        #expect(invalid.staleIfError == 0)
    }
}
