import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// Reads the format "cassette 1": first the position of each interaction and the values by which it is found, and the
/// rest when it is played.
final class CassetteReader: Sendable {
    static let version = 1
    /// How to get a file back that is damaged as a whole, which no mode reads.
    static let remedy = "restore the file from version control, or delete it and record it again"

    /// The values by which an interaction is found.
    struct Entry: Sendable {
        var range: Range<Int>
        let request: Range<Int>
        var response: Range<Int>?
        var failure: Range<Int>?
        var day: Range<Int>?
        /// The tests that have recorded it; nil if it belongs to none.
        var tests: Range<Int>?
        let method: String
        let url: String
        /// Whether the request has content, or anything else beyond its target and its fields.
        let hasContent: Bool
    }

    let bytes: [UInt8]
    let entries: [Entry]
    private let cassette: URL
    private let files: CassetteFiles

    init(_ bytes: [UInt8], of cassette: URL) throws(CassetteError) {
        self.bytes = bytes
        self.cassette = cassette
        files = CassetteFiles(beside: cassette)
        entries = try Self.located(bytes, in: cassette) { try Self.entries(of: bytes) }
    }

    /// Whether a file is of this format, judged by its first member.
    static func recognizes(_ bytes: [UInt8]) -> Bool {
        var scanner = JSONScanner(bytes)
        guard (try? scanner.expect(UInt8(ascii: "{"))) != nil, let name = try? scanner.string() else { return false }
        return name == "cassette"
    }

    /// The whole interaction at an index.
    func interaction(at index: Int) throws(CassetteError) -> Interaction {
        try Self.located(bytes, in: cassette, place: index) {
            let members = try CassetteMembers(bytes, in: entries[index].range)
            var interaction = Interaction(
                request: try Self.request(CassetteMembers(bytes, in: entries[index].request), files),
                response: try members.members("response").map { try Self.response($0, files) },
                failure: try members.members("error").map(Self.failure),
                recordedAt: try entries[index].day.map { try Self.day(bytes, in: $0) })
            interaction.tests = try members.lines("tests")
            return interaction
        }
    }

    /// The outcome of the request at an index.
    func outcome(at index: Int) throws(CassetteError) -> RecordedOutcome {
        try Self.located(bytes, in: cassette, place: index) {
            if let range = entries[index].day { _ = try Self.day(bytes, in: range) }
            // A copy of the entry would count references to its texts.
            return RecordedOutcome(
                response: try entries[index].response.map { try Self.response(CassetteMembers(bytes, in: $0), files) },
                failure: try entries[index].failure.map { try Self.failure(CassetteMembers(bytes, in: $0)) },
                ordinal: index)
        }
    }

    /// The request at an index.
    func request(at index: Int) throws(CassetteError) -> RecordedRequest {
        try Self.located(bytes, in: cassette, place: index) {
            try Self.request(CassetteMembers(bytes, in: entries[index].request), files)
        }
    }

    /// Whether the content of a response ends before its end, because the recorder stopped there.
    func isCut(at index: Int) -> Bool {
        guard let range = entries[index].failure, let members = try? CassetteMembers(bytes, in: range) else {
            return false
        }
        return (try? Self.failure(members))?.isCut ?? false
    }

    /// The day on which an interaction was recorded.
    func recordedAt(_ index: Int) -> Date? {
        entries[index].day.flatMap { try? Self.day(bytes, in: $0) }
    }

    private static func day(_ bytes: [UInt8], in range: Range<Int>) throws -> Date {
        let isText = bytes[range.lowerBound] == UInt8(ascii: "\"")
        guard isText, let day = RecordedDay(bytes[range].dropFirst().dropLast()) else {
            throw JSONSyntaxError(reason: "its day is not a valid date", offset: range.lowerBound)
        }
        return day.date
    }

    /// The tests that have recorded an interaction.
    func tests(of index: Int) -> [String] {
        entries[index].tests.flatMap { try? CassetteMembers.lines(bytes, in: $0) } ?? []
    }

    /// The paths of the files beside the cassette that interactions name, so far as they can be read.
    func files(of ordinals: Set<Int>) -> Set<String> {
        let messages = ordinals.flatMap { [entries[$0].request, entries[$0].response].compactMap { $0 } }
        let paths = messages.compactMap { try? CassetteMembers(bytes, in: $0).text("file") }
        return Set(paths.filter { files.contains($0) })
    }

    /// The line on which an interaction begins, counted from 1.
    func line(of index: Int) -> Int {
        JSONSyntaxError(reason: "", offset: entries[index].range.lowerBound).line(in: bytes)
    }

    private static func located<Value>(
        _ bytes: [UInt8], in cassette: URL, place index: Int? = nil, _ read: () throws -> Value
    ) throws(CassetteError) -> Value {
        do {
            return try read()
        } catch {
            let fault = (error as? JSONSyntaxError).map { ExpectedName.told(in: $0, of: bytes) }
            let comma = fault.flatMap { MissingComma.told(in: $0, of: bytes) }
            let syntax = comma?.error ?? fault
            let line = comma?.line ?? fault.map { "line \($0.line(in: bytes))" }
            let place = index.map { "interactions[\($0)]" }
            let reason = syntax?.reason ?? "it cannot be read"
            throw CassetteError(
                file: cassette.relativePath, place: [line, place].compactMap { $0 }.joined(separator: ", "),
                reason: index != nil || isJSON(bytes) ? reason : "\(reason); \(remedy)")
        }
    }

    private static func isJSON(_ bytes: [UInt8]) -> Bool {
        var scanner = JSONScanner(bytes)
        return (try? scanner.skipValue()) != nil && (try? scanner.expectEnd()) != nil
    }
}

extension CassetteReader {
    private static let requestMembers: [MemberName] =
        ["method", "url", "headers", "trailers"] + RecordedContent.members
    private static let responseMembers: [MemberName] =
        ["status", "reason", "headers", "trailers", "interim", "encoded", "chunks"] + RecordedContent.members

    private static func request(_ members: CassetteMembers, _ files: CassetteFiles) throws -> RecordedRequest {
        guard let method = try members.text("method") else { throw members.missing("method") }
        guard let url = try members.text("url") else { throw members.missing("url") }
        try members.refuseMisspelled(requestMembers)
        return RecordedRequest(
            method: method, url: url, fields: try fields("headers", members),
            body: try RecordedContent.read(members, files: files), trailers: try fields("trailers", members))
    }

    private static func response(_ members: CassetteMembers, _ files: CassetteFiles) throws -> RecordedResponse {
        guard let status = try members.integer("status") else { throw members.missing("status") }
        try members.refuseMisspelled(responseMembers)
        guard (100...999).contains(status) else {
            throw members.fault("its status is not a number from 100 to 999", at: "status")
        }
        return RecordedResponse(
            status: status,
            reason: try members.text("reason") ?? "",
            fields: try fields("headers", members),
            body: try RecordedContent.read(members, files: files),
            trailers: try fields("trailers", members),
            informational: try interim(members),
            coding: try members.text("encoded"),
            chunks: try chunks(members))
    }

    private static func fields(_ name: MemberName, _ members: CassetteMembers) throws -> HTTPFields {
        guard let range = members[name] else { return HTTPFields() }
        var scanner = JSONScanner(members.bytes, range: range)
        return try RecordedFields.read(&scanner)
    }

    private static func interim(_ members: CassetteMembers) throws -> [RecordedResponse.Interim] {
        guard let range = members["interim"] else { return [] }
        var scanner = JSONScanner(members.bytes, range: range)
        var responses: [RecordedResponse.Interim] = []
        try scanner.array { scanner in
            let response = try CassetteMembers(&scanner)
            guard let status = try response.integer("status") else { throw response.missing("status") }
            guard (100...199).contains(status) else {
                throw response.fault(
                    "the status of an interim response is not a number from 100 to 199", at: "status")
            }
            responses.append(.init(status: status, fields: try fields("headers", response)))
        }
        return responses
    }

    private static func chunks(_ members: CassetteMembers) throws -> [RecordedResponse.Chunk] {
        guard let range = members["chunks"] else { return [] }
        var scanner = JSONScanner(members.bytes, range: range)
        var chunks: [RecordedResponse.Chunk] = []
        try scanner.array { scanner in
            var numbers: [Int] = []
            try scanner.array { scanner in
                let digits = String(decoding: members.bytes[try scanner.skipValue()], as: UTF8.self)
                guard let number = Int(digits), number >= 0 else { throw scanner.fault("a chunk is not two numbers") }
                numbers.append(number)
            }
            guard numbers.count == 2 else { throw scanner.fault("a chunk is not two numbers") }
            chunks.append(.init(pause: numbers[0], length: numbers[1]))
        }
        return chunks
    }

    private static func failure(_ members: CassetteMembers) throws -> RecordedFailure {
        guard let kind = try members.text("kind") else { throw members.missing("kind") }
        guard let stage = RecordedFailure.Stage(rawValue: try members.text("after") ?? "head") else {
            throw members.fault("the stage of its error is unknown", at: "after")
        }
        return RecordedFailure(kind: kind, stage: stage)
    }
}
