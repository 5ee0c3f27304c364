import DecorumTesting
import Testing

@Suite struct CassetteModeTests {
    @Test func `The environment names a mode, and else CI decides`() throws {
        #expect(try CassetteMode.current(in: ["CASSETTE": "verify", "CI": "true"]) == .verify)
        #expect(try CassetteMode.current(in: ["CI": "true"]) == .replay)
        #expect(try CassetteMode.current(in: ["CI": "false"]) == .once)
        #expect(try CassetteMode.current(in: [:]) == .once)
    }

    @Test func `A mode that does not exist is told with the modes that there are`() {
        let name = "playback"
        let error = #expect(throws: CassetteModeError.self) { try CassetteMode.current(in: ["CASSETTE": name]) }
        #expect(
            error?.description == """
                CASSETTE is "\(name)", which is not a mode. Modes that record: once (a test without \
                recordings), append (new requests), rewrite (everything anew); modes that only play or send: replay, \
                verify, live, explain.
                """)
        for mode in CassetteMode.allCases {
            #expect(error?.description.contains(mode.rawValue) == true)
        }
    }
}
