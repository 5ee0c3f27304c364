import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// A request that is not conditional any more, as its server gives no validator.
@Suite(.timeLimit(.minutes(3))) struct LostValidatorTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

    @Test func `A validator that is missing is told where a request is not conditional any more`() async throws {
        func requests(_ isConditional: Bool) throws -> [Request] {
            try [
                .get("https://example.com/items"),
                .get(
                    "https://example.com/items", fields: isConditional ? [.ifNoneMatch: "\"v1\""] : [:]),
            ]
        }
        let answer: @Sendable (Request) -> Response = { request in
            request.head.headerFields.contains(.ifNoneMatch)
                ? Response(status: .notModified, fields: [.eTag: "\"v1\""])
                : Response(status: .ok, fields: [.contentType: "application/json", .eTag: "\"v1\""], body: "{}")
        }
        _ = try await recorder.run(.once, requests(true), answer: answer)
        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, requests(false)) { _ in TestRecorder.json("{}") }
        }
        #expect(
            error?.drifts.first?.changes == [
                "validator  the answer to GET https://example.com/items (line 4) has no `ETag` any more",
                "status  was 304, is 200", "content  {}",
            ])
        #expect(error?.description.contains("\nfix: mend the server; if the change is meant, look ") == true)
        let unstored = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, requests(false)) { _ in
                Response(
                    status: .ok,
                    fields: [.contentType: "application/json", .eTag: "\"v1\"", .cacheControl: "private, No-Store"],
                    body: "{}")
            }
        }
        #expect(
            unstored?.drifts.first?.changes.first
                == "validator  the answer to GET https://example.com/items (line 4) has `no-store` in `Cache-Control` now"
        )
        // A request that still has its condition, and a server that fails, have another cause.
        for (isConditional, status) in [(true, 200), (false, 503)] {
            let other = await #expect(throws: CassetteDriftError.self) {
                try await recorder.run(.verify, requests(isConditional)) { _ in
                    Response(status: .init(code: status), fields: [.contentType: "application/json"], body: "{}")
                }
            }
            #expect(other?.description.contains("validator  ") == false)
        }
    }
}
