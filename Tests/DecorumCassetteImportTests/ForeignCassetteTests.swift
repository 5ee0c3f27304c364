#if CassetteImport
import Decorum
import DecorumArchive
import DecorumCassetteImport
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(5))) struct ForeignCassetteTests {
    @Test(arguments: ForeignCassettes.folders)
    func `Each file of a folder has its expectation, and the project's own have every format`(folder: URL) throws {
        let files = try ForeignCassettes.files(in: folder)
        #expect(files.count > 40)
        #expect(files.allSatisfy { $0.isRefused == $0.interactions.isEmpty })
        guard folder == Fixtures.url("cassettes") else { return }
        let formats = try files.filter { !$0.isRefused }.map {
            try ImportedCassette(contentsOf: $0.url, formats: .known).format
        }
        let all: Set = [
            "HAR", "Polly.js", "Replay", "VCR", "betamax", "vcrpy", "go-vcr 1", "go-vcr 2", "DVR", "Vinyl", "undici",
            "nock",
        ]
        #expect(Set(formats) == all)
    }

    @Test(arguments: ForeignCassettes.files.filter { !$0.isRefused })
    func `A cassette is read as an independent reader reads it`(file: ForeignCassettes.File) throws {
        let imported = try ImportedCassette(contentsOf: file.url, formats: .known)
        #expect(imported.interactions.count == file.interactions.count)
        for (found, expected) in zip(imported.interactions, file.interactions) {
            #expect(found.request.method == expected.method)
            #expect(found.request.url == expected.url)
            #expect(found.response?.status ?? 0 == max(0, expected.status))
            #expect((found.failure != nil) == (expected.failed ?? (expected.status <= 0)))
            if let fields = expected.reqHeaders { #expect(pairs(found.request.fields) == pairs(fields)) }
            if let fields = expected.respHeaders { #expect(pairs(found.response?.fields ?? [:]) == pairs(fields)) }
        }
    }

    @Test(arguments: ForeignCassettes.files.filter { !$0.isRefused })
    func `A cassette without coded content names no coding once it is decoded`(file: ForeignCassettes.File) throws {
        let imported = try ImportedCassette(contentsOf: file.url, formats: .known).decodingContent()
        #expect(imported.interactions.count == file.interactions.count)
        guard ["HAR", "DVR", "Vinyl", "Replay"].contains(imported.format) else { return }
        for case let response? in imported.interactions.map(\.response) where !response.body.bytes.isEmpty {
            #expect(response.fields[.contentEncoding] == nil)
        }
    }

    @Test(arguments: ForeignCassettes.files.filter(\.isRefused))
    func `A file that is no cassette of today fails with its name, a place and a cause`(file: ForeignCassettes.File)
        throws
    {
        let error = #expect(throws: CassetteImportError.self) {
            try ImportedCassette(contentsOf: file.url, formats: .known)
        }
        #expect(error?.file == file.url.lastPathComponent)
        #expect(error?.reason.isEmpty == false)
        let isEmpty = try Data(contentsOf: file.url).isEmpty
        #expect((error?.place == nil) == isEmpty)
    }

    @Test(.enabled(if: Digests.tool != nil, "There is no tool that computes digests"))
    func `An independent reader finds the same bodies`() async throws {
        var bodies: [Data] = []
        var expectations: [(digest: String, place: String)] = []
        for file in ForeignCassettes.files where !file.isRefused {
            let imported = try ImportedCassette(contentsOf: file.url, formats: .known)
            for (index, (found, expected)) in zip(imported.interactions, file.interactions).enumerated() {
                let response = found.response?.body ?? RecordedBody()
                let pairs = [
                    (found.request.body, expected.reqSHA, expected.reqLen, "request"),
                    (response, expected.respSHA, expected.respLen, "response"),
                ]
                for (body, digest, length, name) in pairs {
                    guard let digest else { continue }
                    // The independent reader does not know bodies that vcrpy kept as values, and finds nothing there.
                    if imported.format == "vcrpy", body.exactness == .reserialized, length == 0 {
                        #expect(!body.bytes.isEmpty)
                        continue
                    }
                    // A form that was rebuilt from its parts is no JSON.
                    let value = body.exactness == .reserialized ? try? CanonicalJSON.bytes(of: body.bytes) : nil
                    bodies.append(value ?? body.bytes)
                    expectations.append((digest, "\(file.name) \(name) \(index)"))
                }
            }
        }
        #expect(bodies.count > 200)

        let digests = try await Digests.digests(of: bodies)

        #expect(digests.count == bodies.count)
        for (found, expected) in zip(digests, expectations) {
            #expect(found == expected.digest, "\(expected.place)")
        }
    }

    private func pairs(_ fields: HTTPFields) -> [[String]] {
        pairs(fields.map { [$0.name.canonicalName, $0.value] })
    }

    /// Sorts fields, without what is no field and without blanks around values (RFC 9110, section 5.5).
    private func pairs(_ fields: [[String]]) -> [[String]] {
        fields.filter { $0.count == 2 && !$0[0].hasPrefix(":") }
            .map { [$0[0], $0[1].trimmingCharacters(in: .whitespaces)] }
            .sorted { $0.lexicographicallyPrecedes($1) }
    }
}

/// Cassettes of other recorders, with what an independent reader finds in them.
///
/// They are in `Fixtures/cassettes`, and in a folder beside the checkout if it exists.
enum ForeignCassettes {
    struct File: Sendable, CustomTestStringConvertible {
        let url: URL
        let name: String
        /// Whether the file cannot be read; it then has no interactions.
        let isRefused: Bool
        let interactions: [Exchange]

        var testDescription: String { name }
    }

    struct Exchange: Decodable, Sendable {
        let method: String
        let url: String
        let status: Int
        /// Whether the exchange failed; without it, the status tells that.
        let failed: Bool?
        let reqHeaders: [[String]]?
        let respHeaders: [[String]]?
        let reqLen: Int?
        let reqSHA: String?
        let respLen: Int?
        let respSHA: String?
    }

    /// The folders that have cassettes.
    static let folders = [Fixtures.url("cassettes"), Fixtures.shared("cassettes")].compactMap(\.self)

    static let files: [File] = folders.flatMap { folder in (try? files(in: folder)) ?? [] }

    static func files(in folder: URL) throws -> [File] {
        let lines = try Data(contentsOf: folder.appending(path: "EXPECTED.jsonl")).split(separator: 0x0A)
        return try lines.map { line in
            let expectation = try JSONDecoder().decode(Line.self, from: line)
            return File(
                url: folder.appending(path: expectation.file), name: expectation.file,
                isRefused: expectation.expect != nil, interactions: expectation.interactions ?? [])
        }
    }

    private struct Line: Decodable {
        let file: String
        let expect: String?
        let interactions: [Exchange]?
    }
}

/// JSON with sorted members and no blanks, as the independent reader compares values.
enum CanonicalJSON {
    static func bytes(of document: Data) throws -> Data {
        Data(canonical(try JSONValue(parsing: Array(document))).document())
    }

    private static func canonical(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let members):
            .object(
                members.map { JSONValue.Member($0.name, canonical($0.value)) }
                    .sorted { $0.name.unicodeScalars.lexicographicallyPrecedes($1.name.unicodeScalars) })
        case .array(let elements): .array(elements.map(canonical))
        case .number(let digits): .number(Int(digits) == nil ? Double(digits).map { "\($0)" } ?? digits : digits)
        case .null, .bool, .string: value
        }
    }
}

/// SHA-256 of many bodies at once, which a tool of the system computes.
enum Digests {
    static let tool = RunningScript.program("sha256sum", variable: "DECORUM_SHA256SUM")

    static func digests(of bodies: [Data]) async throws -> [String] {
        let files = bodies.enumerated().map { (index, body) in ("body-\(index)", body) }
        let output = try await RunningScript.output(
            of: "sha256sum $(ls body-* | sort -t - -k 2 -n)", files: Dictionary(uniqueKeysWithValues: files))
        return String(decoding: output, as: UTF8.self).split(separator: "\n").map { String($0.prefix(64)) }
    }
}
#endif
