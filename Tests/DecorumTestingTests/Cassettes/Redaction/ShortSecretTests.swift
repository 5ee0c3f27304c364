import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Secrets of a few digits or letters have the form of a placeholder, and reach no file all the same.
@Suite struct ShortSecretTests {
    let folder: TemporaryFolder
    let rules = CassetteRules.silent

    init() throws { folder = try TemporaryFolder() }

    /// Sends a PIN, and gets others.
    private func exchange(_ connection: some Connection, pin: String) async throws -> String {
        let request = try Request.post(
            "https://example.com/pin", fields: [.contentType: "application/json"],
            body: Body(Data(#"{"pin":"\#(pin)"}"#.utf8)))
        return try await connection.send(request).body.text(upTo: 1000)
    }

    private func record(_ content: String, pin: String, _ mode: CassetteMode = .once) async throws -> String {
        let cassette = try Cassette(at: folder.path("a.json"), mode: mode, rules: rules)
        let stub = StubConnection(
            Response(status: .ok, fields: [.contentType: "application/json"], body: Body(Data(content.utf8))))
        _ = try await exchange(CassetteConnection(cassette, recording: stub), pin: pin)
        try await cassette.finish()
        return try folder.text("a.json")
    }

    @Test(arguments: ["1234", "1001", "1002", "10234", "101234", "acd", "aac", "ab1"])
    func `It is replaced, in a text and as a number`(pin: String) async throws {
        let isNumber = pin.allSatisfy(\.isNumber)
        let content = #"{"pin":"\#(pin)","otp":\#(isNumber ? pin : "4821"),"password":"4821","cvv":"7391"}"#
        let text = try await record(content, pin: pin)
        for secret in [pin, "4821", "7391"] {
            #expect(!text.contains("\"\(secret)\"") && !text.contains(": \(secret),"), "\(secret): \(text)")
        }
        let replaying = try Cassette(at: folder.path("a.json"), mode: .replay, rules: rules)
        let played = try await exchange(CassetteConnection(replaying), pin: pin)
        #expect(!isNumber || played.utf8.count == content.utf8.count)
        try await replaying.finish()
    }

    @Test func `A test's own secret is sent in append`() async throws {
        // The digits 1234 are a part of another number of the file.
        _ = try await record(#"{"pin":"4821","id":912345}"#, pin: "1234")
        let cassette = try Cassette(at: folder.path("a.json"), mode: .append, rules: rules)
        let stub = StubConnection(Response(status: .ok))
        let connection = CassetteConnection(cassette, recording: stub)
        _ = try await connection.send(
            .post(
                "https://example.com/verify", fields: [.contentType: "application/json"], body: Body(#"{"pin":"1234"}"#)
            ))
        #expect(stub.requests.count == 1)
    }
}
