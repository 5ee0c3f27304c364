import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// Writes interactions in the format "cassette 1": JSON that is readable, holds each fact once, and changes little.
struct CassetteWriter {
    /// The text of the cassette.
    private(set) var bytes: [UInt8] = []
    /// The files beside it.
    private(set) var files: CassetteFiles

    /// Writes interactions; the ones that are in the file already are copied as text.
    init(_ interactions: [SavedInteraction], of content: CassetteContent, files: CassetteFiles) throws {
        self.files = files
        var page = JSONPage()
        try page.object { page in
            page.member("cassette", CassetteReader.version)
            page.member("interactions")
            try page.array(interactions) { saved, page in
                switch saved {
                case .recorded(let interaction): page.object { write(interaction, to: &$0) }
                case .existing(let ordinal):
                    if let reader = content.reader {
                        page.text(reader.bytes[reader.entries[ordinal].range])
                    } else {
                        let interaction = try content.interaction(at: ordinal)
                        page.object { write(interaction, to: &$0) }
                    }
                }
            }
        }
        bytes = page.bytes + [0x0A]
    }

    /// The text of a file, which is not empty, followed by these interactions; all else in it stays as it is.
    func spliced(into reader: CassetteReader) -> [UInt8] {
        guard let end = reader.entries.last?.range.upperBound, let start = bytes.firstIndex(of: UInt8(ascii: "[")),
            let close = bytes.lastIndex(of: UInt8(ascii: "]"))
        else { return bytes }
        // The file has the line break before the bracket already.
        let text = bytes[(start + 1)..<close]
        let last = text.lastIndex { $0 != 0x20 && $0 != 0x0A }.map { $0 + 1 } ?? text.startIndex
        return reader.bytes[..<end] + [UInt8(ascii: ",")] + text[..<last] + reader.bytes[end...]
    }

    private mutating func write(_ interaction: Interaction, to page: inout JSONPage) {
        page.member("request")
        page.object { write(interaction.request, to: &$0) }
        if let response = interaction.response {
            page.member("response")
            page.object { write(response, to: &$0) }
        }
        if let failure = interaction.failure {
            page.member("error")
            page.object { page in
                page.member("kind", failure.kind)
                page.member("after", failure.stage.rawValue)
            }
        }
        if let date = interaction.recordedAt { page.member("at", RecordedDay.text(date)) }
        if !interaction.tests.isEmpty {
            page.member("tests")
            page.line(interaction.tests.map { JSONText.quoted($0) })
        }
    }

    private mutating func write(_ request: RecordedRequest, to page: inout JSONPage) {
        page.member("method", request.method)
        page.member("url", request.url)
        page.member("headers", request.fields)
        RecordedContent.write(request.body, mediaType: request.fields[.contentType], to: &page, files: &files)
        page.member("trailers", request.trailers)
    }

    private mutating func write(_ response: RecordedResponse, to page: inout JSONPage) {
        if !response.informational.isEmpty {
            page.member("interim")
            page.array(response.informational) { interim, page in
                page.object { page in
                    page.member("status", interim.status)
                    page.member("headers", interim.fields)
                }
            }
        }
        page.member("status", response.status)
        if !response.reason.isEmpty { page.member("reason", response.reason) }
        page.member("headers", response.fields)
        if let coding = response.coding { page.member("encoded", coding) }
        RecordedContent.write(response.body, mediaType: response.fields[.contentType], to: &page, files: &files)
        if !response.chunks.isEmpty {
            page.member("chunks")
            page.line(response.chunks.map { Array("[\($0.pause), \($0.length)]".utf8) })
        }
        page.member("trailers", response.trailers)
    }
}
