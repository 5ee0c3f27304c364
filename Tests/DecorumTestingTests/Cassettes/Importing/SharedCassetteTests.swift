import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(
    .enabled(if: SharedCassettes.folder != nil, "The cassettes are not beside the checkout"), .timeLimit(.minutes(2)))
struct SharedCassetteTests {
    @Test(arguments: SharedCassettes.files.filter { $0.expect == nil })
    func `A real cassette is read as an independent reader reads it`(file: SharedCassettes.File) throws {
        let folder = try #require(SharedCassettes.folder)

        let imported = try ImportedCassette(contentsOf: folder.appending(path: file.file))

        let expected = file.interactions ?? []
        #expect(imported.interactions.count == expected.count)
        for (found, expected) in zip(imported.interactions, expected) {
            #expect(found.request.method == expected.method)
            #expect(found.request.url == expected.url)
            #expect(found.response?.status ?? 0 == max(0, expected.status))
            #expect((found.failure == nil) == (expected.status > 0))
            if let fields = expected.reqHeaders { #expect(pairs(found.request.fields) == pairs(fields)) }
            if let fields = expected.respHeaders { #expect(pairs(found.response?.fields ?? [:]) == pairs(fields)) }
        }
    }

    @Test(arguments: SharedCassettes.files.filter { $0.expect == nil })
    func `A real cassette without coded content names no coding once it is decoded`(file: SharedCassettes.File) throws {
        let folder = try #require(SharedCassettes.folder)

        let imported = try ImportedCassette(contentsOf: folder.appending(path: file.file)).decodingContent()

        #expect(imported.interactions.count == file.interactions?.count)
        guard [.har, .dvr, .vinyl, .replay].contains(imported.format) else { return }
        for case let response? in imported.interactions.map(\.response) where !response.body.bytes.isEmpty {
            #expect(response.fields[.contentEncoding] == nil)
        }
    }

    @Test(arguments: SharedCassettes.files.filter { $0.expect != nil })
    func `A file that is no cassette of today fails with its name, a place and a cause`(file: SharedCassettes.File)
        throws
    {
        let url = try #require(SharedCassettes.folder).appending(path: file.file)

        let error = #expect(throws: CassetteImportError.self) { try ImportedCassette(contentsOf: url) }

        #expect(error?.file == url.lastPathComponent)
        #expect(error?.reason.isEmpty == false)
        let isEmpty = try Data(contentsOf: url).isEmpty
        #expect((error?.place == nil) == isEmpty)
    }

    @Test(.enabled(if: Digests.tool != nil, "There is no tool that computes digests"))
    func `The bodies are those that an independent reader finds`() throws {
        let folder = try #require(SharedCassettes.folder)
        var bodies: [Data] = []
        var expectations: [(digest: String, place: String)] = []
        for file in SharedCassettes.files where file.expect == nil {
            let imported = try ImportedCassette(contentsOf: folder.appending(path: file.file))
            for (index, (found, expected)) in zip(imported.interactions, file.interactions ?? []).enumerated() {
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
                    let isValue = body.exactness == .reserialized
                    bodies.append(isValue ? try CanonicalJSON.bytes(of: body.bytes) : body.bytes)
                    expectations.append((digest, "\(file.file) \(name) \(index)"))
                }
            }
        }
        #expect(bodies.count > 200)

        let digests = try Digests.digests(of: bodies)

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
