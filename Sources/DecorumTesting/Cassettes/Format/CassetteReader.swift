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
        let range: Range<Int>
        let request: Range<Int>
        let response: Range<Int>?
        let failure: Range<Int>?
        let day: Range<Int>?
        /// The tests that have recorded it; nil if it belongs to none.
        let tests: Range<Int>?
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
        let outcome = try outcome(at: index)
        var interaction = Interaction(
            request: try request(at: index), response: outcome.response, failure: outcome.failure,
            recordedAt: recordedAt(index))
        interaction.tests = try Self.located(bytes, in: cassette, place: index) {
            try entries[index].tests.map { try CassetteMembers.lines(bytes, in: $0) } ?? []
        }
        return interaction
    }

    /// The outcome of the request at an index.
    func outcome(at index: Int) throws(CassetteError) -> RecordedOutcome {
        try Self.located(bytes, in: cassette, place: index) {
            let entry = entries[index]
            if let range = entry.day { _ = try Self.day(bytes, in: range) }
            return RecordedOutcome(
                response: try entry.response.map { try Self.response(CassetteMembers(bytes, in: $0), files) },
                failure: try entry.failure.map { try Self.failure(CassetteMembers(bytes, in: $0)) }, ordinal: index)
        }
    }

    /// The request at an index.
    func request(at index: Int) throws(CassetteError) -> RecordedRequest {
        try Self.located(bytes, in: cassette, place: index) {
            let members = try CassetteMembers(bytes, in: entries[index].request)
            return RecordedRequest(
                method: entries[index].method, url: entries[index].url, fields: try members.fields("headers"),
                body: try RecordedContent.read(members, files: files), trailers: try members.fields("trailers"))
        }
    }

    /// Whether the content of a response ends before its end, because the recorder stopped there.
    func isCut(at index: Int) -> Bool {
        let failure = entries[index].failure.flatMap { try? Self.failure(CassetteMembers(bytes, in: $0)) }
        return failure?.isCut ?? false
    }

    /// The day on which an interaction was recorded.
    func recordedAt(_ index: Int) -> Date? {
        entries[index].day.flatMap { try? Self.day(bytes, in: $0) }
    }

    /// The tests that have recorded an interaction.
    func tests(of index: Int) -> [String] {
        entries[index].tests.flatMap { try? CassetteMembers.lines(bytes, in: $0) } ?? []
    }

    /// The paths of the files beside the cassette that interactions name, so far as they can be read.
    func files(of ordinals: Set<Int>) -> Set<String> {
        let messages = ordinals.flatMap { [entries[$0].request, entries[$0].response].compactMap(\.self) }
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
            let fault = error as? JSONSyntaxError
            let place = [fault.map { "line \($0.line(in: bytes))" }, index.map { "interactions[\($0)]" }]
            let reason = fault?.reason ?? "it cannot be read"
            throw CassetteError(
                file: cassette.relativePath, place: place.compactMap(\.self).joined(separator: ", "),
                reason: index != nil || (try? JSONValue(parsing: bytes)) != nil ? reason : "\(reason); \(remedy)")
        }
    }
}

extension CassetteReader {
    /// The interactions of a file, with their positions.
    private static func entries(of bytes: [UInt8]) throws -> [Entry] {
        guard !bytes.isEmpty else { throw JSONSyntaxError(reason: "it is empty", offset: 0) }
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw JSONSyntaxError(reason: "it is not UTF-8", offset: 0)
        }
        var scanner = JSONScanner(bytes)
        var members: [String: Range<Int>] = [:]
        var entries: [Entry] = []
        try scanner.object { name, scanner in
            guard members[name] == nil else { throw scanner.fault("the member \"\(name)\" occurs twice") }
            _ = try scanner.peek()
            let start = scanner.position
            if name == "interactions" {
                var (members, request) = (CassetteMembers(bytes), CassetteMembers(bytes))
                try scanner.array { entries.append(try entry(&$0, &members, &request)) }
            } else {
                _ = try scanner.skipValue()
            }
            members[name] = start..<scanner.position
            if name == "cassette" { try checkVersion(bytes, in: start..<scanner.position) }
        }
        try scanner.expectEnd()
        guard members["cassette"] != nil else { throw JSONSyntaxError(reason: "it has no version", offset: 0) }
        guard members["interactions"] != nil else {
            throw JSONSyntaxError(reason: "it has no list of interactions", offset: 0)
        }
        return entries
    }

    private static func checkVersion(_ bytes: [UInt8], in range: Range<Int>) throws {
        let found = Int(String(decoding: bytes[range], as: UTF8.self))
        guard found != version else { return }
        let reason =
            found.flatMap { $0 > version ? $0 : nil }.map {
                "its version is \($0): a later version of Decorum has written it, so update the package"
            } ?? "its version is not \(version), the only one that is known"
        throw JSONSyntaxError(reason: reason, offset: range.lowerBound)
    }

    /// Reads an interaction into two lists of members, which take memory once for all interactions.
    private static func entry(
        _ scanner: inout JSONScanner, _ members: inout CassetteMembers, _ request: inout CassetteMembers
    ) throws -> Entry {
        try members.read(&scanner) { name, scanner in
            guard name == "request" else { return try scanner.skipValue() }
            try request.read(&scanner) { try $1.skipValue() }
            return request.range
        }
        guard members["request"] != nil else { throw members.missing("request") }
        guard let method = try request.text("method") else { throw request.missing("method") }
        guard let url = try request.text("url") else { throw request.missing("url") }
        let (response, failure) = (members["response"], members["error"])
        guard response != nil || failure != nil else {
            throw members.fault("it has neither a `response` nor an `error`")
        }
        return Entry(
            range: members.range, request: request.range, response: response, failure: failure, day: members["at"],
            tests: members["tests"], method: method, url: url,
            hasContent: request.count > (request["headers"] == nil ? 2 : 3))
    }

    private static func day(_ bytes: [UInt8], in range: Range<Int>) throws -> Date {
        guard bytes[range.lowerBound] == UInt8(ascii: "\""),
            let day = RecordedDay.date(bytes[range].dropFirst().dropLast())
        else {
            throw JSONSyntaxError(reason: "its day is not a valid date", offset: range.lowerBound)
        }
        return day
    }

    private static func response(_ members: CassetteMembers, _ files: CassetteFiles) throws -> RecordedResponse {
        RecordedResponse(
            status: try members.status(100...999, of: "its status"), reason: try members.text("reason") ?? "",
            fields: try members.fields("headers"),
            body: try RecordedContent.read(members, files: files), trailers: try members.fields("trailers"),
            informational: try interim(members), coding: try members.text("encoded"), chunks: try chunks(members))
    }

    private static func interim(_ members: CassetteMembers) throws -> [RecordedResponse.Interim] {
        try members.elements("interim").map { range in
            let response = try CassetteMembers(members.bytes, in: range)
            let status = try response.status(100...199, of: "the status of an interim response")
            return RecordedResponse.Interim(status: status, fields: try response.fields("headers"))
        }
    }

    private static func chunks(_ members: CassetteMembers) throws -> [RecordedResponse.Chunk] {
        try members.elements("chunks").map { range in
            let numbers = try? JSONValue(parsing: Array(members.bytes[range])).array?.map(\.integer)
            guard let numbers, numbers.count == 2, let pause = numbers[0], let length = numbers[1], pause >= 0,
                length >= 0
            else { throw JSONSyntaxError(reason: "a chunk is not two numbers", offset: range.lowerBound) }
            return RecordedResponse.Chunk(pause: pause, length: length)
        }
    }

    private static func failure(_ members: CassetteMembers) throws -> RecordedFailure {
        guard let kind = try members.text("kind") else { throw members.missing("kind") }
        guard let stage = RecordedFailure.Stage(rawValue: try members.text("after") ?? "head") else {
            throw members.fault("the stage of its error is unknown", at: "after")
        }
        return RecordedFailure(kind: kind, stage: stage)
    }
}
