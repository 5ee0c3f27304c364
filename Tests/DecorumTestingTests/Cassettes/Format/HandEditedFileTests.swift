import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Mistakes of a person who has edited a cassette, each told with its line and its cause.
@Suite struct HandEditedFileTests {
    private static let remedy = "; restore the file from version control, or delete it and record it again"
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// The error of a file whose request has two lines, beginning with line 3, and whose response has two, beginning with
    /// line 5.
    private func error(request: String, response: String) throws -> CassetteError? {
        try folder.write(
            """
            {"cassette": 1,
            "interactions": [{
            "request": {"method": "GET",
            \(request)},
            "response": {"headers": {},
            \(response)}}
            ]}
            """, to: "a.json")
        return #expect(throws: CassetteError.self) {
            try Cassette(at: folder.path("a.json"), mode: .replay).interactions()
        }
    }

    @Test(arguments: [
        (#""code": 200"#, "it has no `status`", 5), (#""status": 20"#, "its status is not a number from 100 to 999", 6),
        (#""status": 200.5"#, "`status` has to be a whole number", 6),
        (#""status": 200, "text": "a", "format": "odd""#, "its format is unknown", 6),
    ])
    func `A response that was edited wrongly is told`(members: String, reason: String, line: Int) throws {
        let error = try error(request: #""url": "/""#, response: members)
        #expect(error?.reason == reason)
        #expect(error?.place.hasPrefix("line \(line)") == true, "\(error?.place ?? "")")
    }

    @Test(arguments: [
        (#""status": 200, "text": "a"#, "a string does not end on its line, so a quotation mark may be missing"),
        ("\"status\": 200, \"text\": \"a\tb\"", "a string has a control character"),
        (#""status": 200,"#, "a string is expected"), (#""status": 200, text: "a""#, "a string is expected"),
    ])
    func `A file that is no JSON is told with the remedy`(members: String, reason: String) throws {
        let error = try error(request: #""url": "/""#, response: members)
        #expect(error?.reason == reason + Self.remedy)
        #expect(error?.place == "line 6")
    }

    @Test func `A message with more fields than any has is refused with its line`() throws {
        // HTTPTypes ends the process at 65,535 fields.
        func lists(of count: Int) -> [String] {
            let values = Array(repeating: #""b""#, count: count).joined(separator: ",")
            let members = (0..<count).map { #""a\#($0)":"b""# }.joined(separator: ",")
            return [#"{"a":[\#(values)]}"#, "{\(members)}"]
        }
        for fields in lists(of: 65_535) {
            let errors = [
                try error(request: #""url": "/", "headers": \#(fields)"#, response: #""status": 200"#),
                try error(request: #""url": "/", "trailers": \#(fields)"#, response: #""status": 200"#),
                try error(request: #""url": "/""#, response: #""status": 200, "trailers": \#(fields)"#),
                try error(
                    request: #""url": "/""#,
                    response: #""status": 200, "interim": [{"status": 103, "headers": \#(fields)}]"#),
            ]
            for (error, line) in zip(errors, [4, 4, 6, 6]) {
                #expect(error?.reason == "a message has more than 1000 fields")
                #expect(error?.place == "line \(line), interactions[0]")
            }
        }
        for fields in lists(of: 1000) {
            try folder.write(
                #"{"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "/", "headers": \#(fields)}, "response": {"status": 200}}]}"#,
                to: "a.json")
            let interactions = try Cassette(at: folder.path("a.json"), mode: .replay).interactions()
            #expect(interactions.map(\.request.fields.count) == [1000])
        }
    }

    @Test func `Members of a later version are no fault, and a day that is none is one`() throws {
        func file(_ day: String) -> String {
            """
            {"cassette": 1, "interactions": [
            {"request": {"method": "GET", "url": "/", "weight": 1},
            "response": {"status": 200, "server": "a", "quick response": true}, "at": "\(day)", "mood": 1, "comments": []}]}
            """
        }
        try folder.write(file("2026-11-24"), to: "a.json")
        #expect(try Cassette(at: folder.path("a.json"), mode: .replay).interactions().count == 1)
        try folder.write(file("2026-13-24"), to: "a.json")
        let error = #expect(throws: CassetteError.self) {
            try Cassette(at: folder.path("a.json"), mode: .replay).interactions()
        }
        #expect(error?.reason == "its day is not a valid date")
        #expect(error?.place.hasPrefix("line 3") == true)
    }

    @Test func `A content file that was edited is told with the remedy`() throws {
        try FileManager.default.createDirectory(
            at: folder.url.appending(path: "a.tape"), withIntermediateDirectories: true)
        try folder.write("edited", to: "a.tape/0123456789abcdef.bin")
        let error = try error(
            request: #""url": "/""#, response: #""status": 200, "file": "a.tape/0123456789abcdef.bin""#)
        #expect(error?.reason.contains("no longer the checksum of its content; restore the file from ") == true)
    }
}
