import Decorum

extension ImportDraft {
    /// The failure that a tool describes in words, such as `net::ERR_TIMED_OUT`.
    mutating func failure(_ text: String, at place: ImportPlace) -> RecordedFailure {
        if Self.codes.contains(where: { $0.description == text }) || text == "cancelled" {
            return RecordedFailure(kind: text, stage: .head)
        }
        let words = text.lowercased().replacing("_", with: " ")
        let table: [(words: [String], code: TransportError.Code, stage: RecordedFailure.Stage)] = [
            (["refused", "connect call failed"], .connectionRefused, .connect),
            (
                [
                    "name not resolved", "enotfound", "dns", "getaddrinfo", "hostname could not be found",
                    "name or service not known",
                ], .hostNotFound,
                .connect
            ),
            (["content length mismatch", "incomplete chunked"], .truncated, .head),
            (["timed out", "timeout", "etimedout"], .timedOut, .head),
            (["cert", "ssl", "tls"], .tls, .connect),
            (["unreachable", "internet disconnected", "offline", "address"], .unreachable, .connect),
            (
                ["reset", "closed", "empty response", "connection was lost", "aborted", "hang up", "disconnect"],
                .connectionLost, .head
            ),
            (["invalid response", "protocol", "malformed"], .malformedResponse, .head),
        ]
        if let row = table.first(where: { row in row.words.contains { words.contains($0) } }) {
            return RecordedFailure(kind: row.code.description, stage: row.stage)
        }
        warn(.failure, at: place, "The file describes the failure of the exchange in unknown words.")
        return RecordedFailure(kind: TransportError.Code.other.description, stage: .head)
    }

    private static let codes: [TransportError.Code] = [
        .connectionRefused, .hostNotFound, .unreachable, .timedOut, .connectionLost, .truncated, .malformedResponse,
        .tls,
        .undecodableContent, .unreadableBody, .limitExceeded, .other,
    ]
}
