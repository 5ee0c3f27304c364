import Decorum
import Foundation
import Testing

/// Files whose settings cannot be used.
@Suite struct StandardStackRefusalTests {
    private func decode(_ text: String) throws -> StandardStack {
        try JSONDecoder().decode(StandardStack.self, from: Data(text.utf8))
    }

    private static let refusals: [(text: String, problems: [String])] = [
        ("[]", ["`settings` have to be an object"]),
        (#"{"preset": "phone"}"#, ["`preset` is a text, but has to be one of the texts “app”, “server”, “tool”"]),
        (
            #"{"retries": {"max": 3}}"#,
            [
                """
                `retries.max` is no setting; did you mean `maximum`? The settings here are baseDelay, budget, certainPart, maximum, \
                maximumDelay, maximumRetryAfter
                """
            ]
        ),
        (#"{"retries": {"maximum": "3"}}"#, ["`retries.maximum` is a text, but has to be a whole number"]),
        (#"{"retries": {"maximum": 1.5}}"#, ["`retries.maximum` is 1.5, but has to be a whole number"]),
        (
            #"{"retries": 3}"#,
            [#"`retries` is 3, but has to be true, false, or an object with settings, such as {"maximum": 3}"#]
        ),
        (
            #"{"caching": null}"#,
            [#"`caching` is null, but has to be true, false, or an object with settings, such as {"size": 33554432}"#]
        ),
        (
            #"{"time": {"call": "30 s"}, "pacing": {"heedsRateLimits": 1}}"#,
            [
                "`time.call` is a text, but has to be a number of seconds, or false to leave it out",
                "`pacing.heedsRateLimits` is 1, but has to be true or false",
            ]
        ),
        (
            #"{"retries": {"budget": "none"}}"#,
            ["`retries.budget` is a text, but has to be one of the texts “shared”, “perCall”, “unlimited”"]
        ),
        (
            #"{"time": {"call": 5}}"#,
            [
                "`time.attempt` is 10.00 s, which is not shorter than `time.call`, 5.00 s (the preset “app” sets `time.attempt`)"
            ]
        ),
        (
            #"{"time": {"body": 5}}"#,
            [
                "`time.body` is 5.00 s, which is shorter than `time.call`, 30.00 s, and includes it (the preset “app” sets `time.call`)"
            ]
        ),
        (
            #"{"time": false}"#,
            ["`retries` need a limit for a whole call; set `time.call` (the preset “app” sets `retries`)"]
        ),
        (
            #"{"preset": "tool", "time": {"call": false}}"#,
            ["`retries` need a limit for a whole call; set `time.call` (the preset “tool” sets `retries`)"]
        ),
        (
            #"{"time": {"call": 9223372036854775807}}"#,
            ["`retries` need a limit for a whole call; set `time.call` (the preset “app” sets `retries`)"]
        ),
        (
            #"{"time": {"attempt": 9223372036854775807}}"#,
            [
                "`time.attempt` is 106751991167300 days, which is not shorter than `time.call`, 30.00 s (the preset “app” sets `time.call`)"
            ]
        ),
        (
            #"{"retries": {"baseDelay": 9223372036854775807}}"#,
            [
                "`retries.maximumDelay` is 20.00 s, which is shorter than `retries.baseDelay`, 106751991167300 days (the preset “app” sets `retries.maximumDelay`)"
            ]
        ),
        (
            #"{"time": {"idle": -9223372036854775808}}"#,
            ["`time.idle` has to be above zero; `false` leaves the part out"]
        ),
        (#"{"time": {"idle": -1}}"#, ["`time.idle` has to be above zero; `false` leaves the part out"]),
        (#"{"retries": {"maximum": 0}}"#, ["`retries.maximum` has to be above zero; `false` leaves the part out"]),
        (
            #"{"retries": {"baseDelay": 30}}"#,
            [
                "`retries.maximumDelay` is 20.00 s, which is shorter than `retries.baseDelay`, 30.00 s (the preset “app” sets `retries.maximumDelay`)"
            ]
        ),
        (#"{"retries": {"certainPart": 2}}"#, ["`retries.certainPart` has to be from 0 to 1"]),
        (#"{"caching": {"size": 0}}"#, ["`caching.size` has to be above zero; `false` leaves the part out"]),
        (
            #"{"caching": {"staleIfSlow": 40}}"#,
            [
                "`caching.staleIfSlow` is 40.00 s, which is not shorter than `time.call`, 30.00 s (the preset “app” sets `time.call`)"
            ]
        ),
        (#"{"redirects": {"maximum": 0}}"#, ["`redirects.maximum` has to be above zero; `false` leaves the part out"]),
        (
            #"{"decompression": {"codings": []}}"#,
            ["`decompression.codings` names no coding; `false` leaves the part out"]
        ),
        (
            #"{"decompression": {"codings": ["gzip", "rot13"]}}"#,
            ["`decompression.codings[1]` is no known coding"]
        ),
        (#"{"compression": {"coding": "lzw"}}"#, ["`compression.coding` is no known coding"]),
        (
            #"{"fields": {"Authorization": "Bearer 1"}}"#,
            [
                """
                `fields.Authorization` holds credentials, which no settings hold; pass `authentication:` to `composed`
                """
            ]
        ),
        (
            #"{"fields": {"A B": "x", ":path": "/", "Accept": 3, "X-Note": "a\r\nX-Evil: 1", "X-End": "a "}}"#,
            [
                "`fields.:path` is not the name of a field, which has letters, digits and hyphens",
                "`fields.A B` is not the name of a field, which has letters, digits and hyphens",
                "`fields.Accept` is 3, but has to be a text, or a list of texts",
                "`fields.X-End` has a line break or another character that no field can have, or a blank at an end",
                "`fields.X-Note` has a line break or another character that no field can have, or a blank at an end",
            ]
        ),
        (#"{"fields": []}"#, ["`fields` is a list, but has to be an object with the names and values of fields"]),
        (
            #"{"client": {"nam": "Reader"}}"#,
            ["`client.nam` is no setting; did you mean `name`? The settings here are name, version"]
        ),
        (#"{"languages": ["pt_BR"]}"#, ["`languages[0]` is no tag such as “pt-BR”"]),
        (
            #"{"baseURL": "/v1"}"#,
            [
                """
                `baseURL` cannot be used: The base URL has no scheme; write it as in \
                https://api.example.com/v1/
                """
            ]
        ),
        (
            #"{"callLog": {"detail": "bodies", "bodyLimit": 0}}"#,
            ["`callLog.bodyLimit` has to be above zero; `false` leaves the part out"]
        ),
        (
            #"{"callLog": "line"}"#,
            [#"`callLog` is a text, but has to be true, false, or an object with settings, such as {"detail": "line"}"#]
        ),
        (
            #"{"baseURL": "https://ghe.example/api/v3"}"#,
            ["`baseURL` has to end with “/”: references replace what is behind the last slash"]
        ),
        (
            #"{"baseURL": "https://a.example/?tenant=1"}"#,
            ["`baseURL` has a query, which references leave out; use `fields`, or add it to each request"]
        ),
        (
            #"{"timeout": 30, "Caching": {}, "request_ids": true, "pacing": {"longest": 3}, "languages": ["en", "e n"]}"#,
            [
                "`pacing.longest` is no setting; did you mean `longestPause`? The settings here are heedsRateLimits, longestPause, longestWait, separatesRoutes",
                "`Caching` is no setting; did you mean `caching`? The settings here are \(allKeys)",
                "`request_ids` is no setting; did you mean `requestIDs`? The settings here are \(allKeys)",
                "`timeout` is no setting; did you mean `time`? The settings here are \(allKeys)",
                "`languages[1]` is no tag such as “pt-BR”",
            ]
        ),
        (
            #"{"time": {"call": "5"}, "caching": {"size": 0}, "retries": {"maximum": 0}}"#,
            [
                "`time.call` is a text, but has to be a number of seconds, or false to leave it out",
                "`retries.maximum` has to be above zero; `false` leaves the part out",
                "`caching.size` has to be above zero; `false` leaves the part out",
            ]
        ),
    ]

    private static let allKeys = """
        baseURL, caching, callLog, client, coalescing, compression, decompression, fields, idempotencyKeys, languages, \
        pacing, redirects, requestIDs, retries, statusValidation, time, wireLog
        """

    @Test func `No text of a file is quoted, since it may be a secret in the wrong place`() throws {
        let keys = [
            "preset", "callLog", "time", "retries", "languages", "fields", "statusValidation", "client", "caching",
        ]
        for key in keys {
            for value in [#""s3cret""#, #"["s3cret"]"#, #"{"s": "s3cret"}"#] {
                do {
                    _ = try decode(#"{"\#(key)": \#(value)}"#)
                } catch {
                    #expect(!"\(error)".contains("s3cret"), "\(key)")
                }
            }
        }
    }

    @Test(arguments: refusals.indices) func `A file with unsuitable settings is refused with their paths`(
        index: Int
    ) throws {
        let (text, problems) = Self.refusals[index]
        let error = try #require(throws: StackSettingsError.self) { try decode(text) }
        #expect(error.problems.map(\.description) == problems)
    }
}
