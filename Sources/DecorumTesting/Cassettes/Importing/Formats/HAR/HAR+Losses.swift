import Decorum
public import DecorumArchive
import Foundation
import HTTPTypes

extension HAR {
    /// Creates an archive of recorded exchanges, as ``init(_:)`` does, and reports what the format has no place for.
    ///
    /// ```swift
    /// let archive = HAR(imported.interactions) { loss in print(loss) }
    /// ```
    ///
    /// - Parameters:
    ///   - interactions: The exchanges.
    ///   - report: Is called for each loss, in the order of the exchanges.
    public init(_ interactions: [Interaction], reporting report: (_ loss: ExportLoss) -> Void) {
        self.init(interactions)
        for (index, interaction) in interactions.enumerated() {
            ExportLoss.all(of: interaction, in: entries[index], number: index + 1).forEach(report)
        }
    }
}

extension ExportLoss {
    /// The losses of an exchange with a number; without an entry of an archive, those of the format "cassette 1".
    static func all(of interaction: Interaction, in entry: HAR.Entry?, number: Int) -> [ExportLoss] {
        HARLosses(of: interaction, in: entry).found.map { kind, message, isRestored in
            ExportLoss(kind: kind, interaction: number, message: message, isRestored: isRestored)
        }
    }
}

/// The losses of one exchange.
private struct HARLosses {
    private(set) var found: [(kind: ExportLoss.Kind, message: String, isRestored: Bool)] = []

    init(of interaction: Interaction, in entry: HAR.Entry?) {
        if let entry {
            addFailure(of: interaction)
            addTarget(of: interaction.request, in: entry)
        }
        addFields([interaction.request.fields, interaction.request.trailers], of: "request")
        if let response = interaction.response {
            addFields([response.fields, response.trailers] + response.informational.map(\.fields), of: "response")
        }
        guard let entry else { return }
        addBodies(of: interaction, in: entry)
        if !interaction.request.trailers.isEmpty || interaction.response?.trailers.isEmpty == false {
            add(.trailers, "The trailers are only in a custom field.")
        }
        if let response = interaction.response {
            if !response.informational.isEmpty {
                add(.informational, "The interim responses are only in a custom field.")
            }
            if response.chunks.contains(where: { $0.pause > 0 }) || response.chunks.count > 1 {
                add(.timing, "The times of the chunks are only in a custom field, and their sum is in the timings.")
            }
        }
        if interaction.recordedAt == nil { add(.date, "The time is not known, and 1970 is written for it.") }
    }

    private mutating func add(_ kind: ExportLoss.Kind, _ message: String, isRestored: Bool = true) {
        found.append((kind, message, isRestored))
    }

    private mutating func addFailure(of interaction: Interaction) {
        guard let failure = interaction.failure else { return }
        let shown = interaction.response == nil ? "a response with the status 0" : "a whole response"
        add(.failure, "The exchange failed (\(failure.kind)), and programs that do not read _error show \(shown).")
    }

    private mutating func addTarget(of request: RecordedRequest, in entry: HAR.Entry) {
        guard request.url != entry.request.url else { return }
        add(.url, "The URL is written without its fragment, and in the characters that are valid in a URL.")
    }

    private mutating func addFields(_ fields: [HTTPFields], of message: String) {
        for field in fields.joined() {
            let isText = unsafe field.withUnsafeBytesOfValue { unsafe field.value.utf8.elementsEqual($0) }
            guard !isText else { continue }
            add(.field, "The field \(field.name) of the \(message) is not UTF-8.", isRestored: false)
        }
    }

    private mutating func addBodies(of interaction: Interaction, in entry: HAR.Entry) {
        if entry.request.postData?.encoding != nil {
            add(.body, "The content of the request is base64, for which HAR 1.2 has no mark.")
        }
        let bodies = [interaction.request.body, interaction.response?.body ?? RecordedBody()]
        if bodies.contains(where: { $0.exactness != .exact }) {
            add(.body, "Only a custom field says that a body is not the bytes that were transferred.")
        }
        guard let response = interaction.response, !response.body.bytes.isEmpty else { return }
        let coding = response.fields[.contentEncoding].map { $0.lowercased() } ?? "identity"
        if entry.response.content.compression != nil {
            add(.contentCoding, "The content is written without its coding; the coded bytes are in a custom field.")
        } else if coding != "identity" {
            add(
                .contentCoding, "The content is in a coding that cannot be undone here, and other programs expect none."
            )
        }
    }
}
