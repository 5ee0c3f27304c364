import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// The draft "RateLimit header fields for HTTP", and the fields that servers sent before it.
@Suite struct RateLimitFieldsTests {
    // 2023-11-14, 22:13:20 UTC.
    private static let date = Date(timeIntervalSince1970: 1_700_000_000)
    private static let late = ["Date": "Tue, 14 Nov 2023 23:13:20 GMT", "X-RateLimit-Remaining": "0"]

    @Test(
        arguments: [
            (["RateLimit": #""default";r=0;t=30"#], 30), (["RateLimit": #""default";r=1;t=30"#], nil),
            (["RateLimit": #""burst";r=0;t=5, "day";r=0;t=300"#], 300),
            (["RateLimit": #""burst";r=3;t=5, "day";r=0;t=300"#], 300),
            (["RateLimit": #""default";r=0"#], nil), (["RateLimit": #""default";r=0;t=-1"#], nil),
            (["RateLimit": "limit=100, remaining=0, reset=50"], 50),
            (["RateLimit": "limit=100, remaining=9, reset=50"], nil), (["RateLimit": "soon"], nil),
            (["RateLimit-Remaining": "0", "RateLimit-Reset": "7"], 7), (["RateLimit-Remaining": "0"], nil),
            (["RateLimit-Reset": "7"], nil), (["RateLimit-Remaining": "1", "RateLimit-Reset": "7"], nil),
            (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000060"], 60),
            (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000060000"], 60),
            (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1699999999"], nil),
            (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "90"], 90),
            (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "1.5", "X-RateLimit-Reset": "1700000060"], 1.5),
            (["X-Rate-Limit-Remaining": "0", "X-Rate-Limit-Reset": "1700000010"], 10),
            (["X-RateLimit-Remaining": "none", "X-RateLimit-Reset": "9"], nil),
            (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "inf"], 0x1p31), (["X-RateLimit-Limit": "0"], nil),
            (["X-RateLimit-Remaining": "nan", "X-RateLimit-Reset": "nan"], nil), ([:], nil),
            // Servers whose clocks are an hour ahead of that of the client, and an hour behind it.
            (late.merging(["X-RateLimit-Reset": "1700003630"]) { $1 }, 30),
            (late.merging(["X-RateLimit-Reset": "1700000060"]) { $1 }, nil),
            (late.merging(["X-RateLimit-Reset": "30"]) { $1 }, 30),
            (
                [
                    "Date": "Tue, 14 Nov 2023 21:13:20 GMT", "X-RateLimit-Remaining": "0",
                    "X-RateLimit-Reset": "1699996430000",
                ], 30
            ),
        ] as [([String: String], Double?)])
    func `A used limit says how long to wait`(fields: [String: String], seconds: Double?) throws {
        let pause = RateLimitFields.usedLimit(in: try HTTPFields(fields), at: Self.date)?.renewal

        #expect(pause == seconds.map { .seconds($0) })
    }

    @Test func `A wait that Retry-After names counts, and otherwise that of a limit`() throws {
        let both = try HTTPFields(["Retry-After": "3", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "90"])
        let past = try HTTPFields(["Retry-After": "soon", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "90"])

        #expect(AskedWait.duration(in: both, at: Self.date) == .seconds(3))
        #expect(AskedWait.duration(in: past, at: Self.date) == .seconds(90))
    }

    @Test(arguments: 1...200)
    func `No value breaks the reading`(seed: UInt64) throws {
        let generator = SeededGenerator(seed: seed)
        let alphabet = Array(#"0123456789.,;=-+ "rtabcdefEx_/:"#)
        let text = String((0..<Int(generator.next() % 60)).map { _ in alphabet[Int(generator.next() % 31)] })
        for name in ["RateLimit", "X-RateLimit-Reset", "RateLimit-Reset", "Retry-After"] {
            let fields = try HTTPFields([name: text, "X-RateLimit-Remaining": "0", "RateLimit-Remaining": "0"])
            let wait = AskedWait.duration(in: fields, at: Self.date)
            #expect(wait.map { $0 >= .zero && $0 <= .seconds(0x1p31) } ?? true)
        }
    }
}
