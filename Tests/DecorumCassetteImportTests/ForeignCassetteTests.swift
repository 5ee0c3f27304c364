#if CassetteImport
import Decorum
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
        let all: Set<ImportedFormat> = [
            .har, .polly, .replay, .vcr, .betamax, .vcrpy, .goVCR1, .goVCR2, .dvr, .vinyl, .undici, .nock,
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
        guard [.har, .dvr, .vinyl, .replay].contains(imported.format) else { return }
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
    func `The bodies are those that an independent reader finds`() async throws {
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
                    if imported.format == .vcrpy, body.exactness == .reserialized, length == 0 {
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
#endif
