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

    /// Writes interactions; those that are in the file already are copied as text.
    init(_ interactions: [SavedInteraction], of content: CassetteContent, files: CassetteFiles) throws {
        self.files = files
        var page = JSONPage()
        try page.object { page in
            page.member("cassette")
            page.number(CassetteReader.version)
            page.member("interactions")
            try page.array { page in
                for saved in interactions {
                    page.element()
                    switch (saved, content) {
                    case (.existing(let ordinal), .file(let reader)):
                        page.text(reader.bytes[reader.entries[ordinal].range])
                    case (.existing(let ordinal), _):
                        let interaction = try content.interaction(at: ordinal)
                        page.object { write(interaction, to: &$0) }
                    case (.recorded(let interaction), _): page.object { write(interaction, to: &$0) }
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
        var output: [UInt8] = []
        output.reserveCapacity(reader.bytes.count + bytes.count)
        output += reader.bytes[..<end]
        output.append(UInt8(ascii: ","))
        // The line break before the bracket is that of the file.
        let text = bytes[(start + 1)..<close]
        output += text[..<(text.lastIndex { $0 != 0x20 && $0 != 0x0A }.map { $0 + 1 } ?? text.startIndex)]
        output += reader.bytes[end...]
        return output
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
                page.member("kind")
                page.string(failure.kind)
                page.member("after")
                page.string(failure.stage.rawValue)
            }
        }
        if let date = interaction.recordedAt {
            page.member("at")
            page.string(RecordedDay(date).description)
        }
        if !interaction.tests.isEmpty {
            page.member("tests")
            page.line(interaction.tests.map { JSONText.quoted($0) })
        }
    }

    private mutating func write(_ request: RecordedRequest, to page: inout JSONPage) {
        page.member("method")
        page.string(request.method)
        page.member("url")
        page.string(request.url)
        RecordedFields.write(request.fields, as: "headers", to: &page)
        RecordedContent.write(request.body, mediaType: request.fields[.contentType], to: &page, files: &files)
        RecordedFields.write(request.trailers, as: "trailers", to: &page)
    }

    private mutating func write(_ response: RecordedResponse, to page: inout JSONPage) {
        if !response.informational.isEmpty {
            page.member("interim")
            page.array { page in
                for interim in response.informational {
                    page.element()
                    page.object { page in
                        page.member("status")
                        page.number(interim.status)
                        RecordedFields.write(interim.fields, as: "headers", to: &page)
                    }
                }
            }
        }
        page.member("status")
        page.number(response.status)
        if !response.reason.isEmpty {
            page.member("reason")
            page.string(response.reason)
        }
        RecordedFields.write(response.fields, as: "headers", to: &page)
        if let coding = response.coding {
            page.member("encoded")
            page.string(coding)
        }
        RecordedContent.write(response.body, mediaType: response.fields[.contentType], to: &page, files: &files)
        if !response.chunks.isEmpty {
            page.member("chunks")
            page.line(response.chunks.map { Array("[\($0.pause), \($0.length)]".utf8) })
        }
        RecordedFields.write(response.trailers, as: "trailers", to: &page)
    }
}
