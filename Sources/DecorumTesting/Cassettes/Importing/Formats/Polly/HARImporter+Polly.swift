import Decorum
import DecorumArchive
import Foundation

/// Reads content as Polly.js stores it.
extension HARImporter {
    /// Whether an empty list holds no chunks, as Polly.js stores absent content, rather than being content itself.
    func hasNoChunks(_ entry: HAR.Entry) -> Bool {
        let content = entry.response.content
        guard isPolly, content.encoding == "base64", content.text == "[]" else { return false }
        return content.size == 0 || !RecordedResponse.mayHaveContent(entry.response.status, to: entry.request.method)
    }

    /// The bytes that older versions of Polly.js mark in a separate field: hexadecimal, and later base64.
    func binary(_ text: String, at node: StoredNode, _ draft: inout ImportDraft) throws -> RecordedBody {
        let parts = try StorageEncoding.chunks(text, within: &draft.budget) ?? [text]
        let bytes =
            StorageEncoding.joined(parts, StorageEncoding.hexadecimal)
            ?? StorageEncoding.joined(parts, StorageEncoding.base64)
        if let bytes { return RecordedBody(bytes) }
        draft.warn(.storageEncoding, at: node, "The body is called binary and is not; it was read as text.")
        return RecordedBody(Data(text.utf8))
    }

    /// The bytes of coded content, which Polly.js keeps as a list of chunks: base64, or hexadecimal in its first version.
    func chunks(_ text: String, isBase64: Bool, coding: String?, within budget: inout ImportBudget) throws -> Data? {
        guard let chunks = try StorageEncoding.chunks(text, within: &budget) else { return nil }
        let candidates = [
            StorageEncoding.joined(chunks, StorageEncoding.hexadecimal),
            StorageEncoding.joined(chunks, StorageEncoding.base64),
        ].compactMap(\.self)
        if let coded = candidates.first(where: { StoredCoding.isMagic($0, of: coding ?? "") == true }) { return coded }
        guard let first = candidates.first, let last = candidates.last else { return nil }
        guard let coding, StoredCoding.isMagic(first, of: coding) != nil else { return isBase64 ? last : first }
        // Neither candidate has the magic number of the coding: it is deflate without one, or text that was never
        // coded. Otherwise this is a list in JSON that was decoded before it was stored.
        let isContent =
            try StoredCoding.decode(last, coding, within: &budget) != nil
            || (!last.isEmpty && String(validating: last, as: UTF8.self) != nil)
        return isBase64 && isContent ? last : nil
    }
}
