import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// The answers about files, users and events.
extension DemoBook {
    func upload(_ request: ReceivedRequest) -> LoopbackOrigin.Answer {
        let mediaType = request.fields["Content-Type"] ?? ""
        guard mediaType.lowercased().hasPrefix("multipart/form-data"),
            let boundary = mediaType.range(of: "boundary=").map({ mediaType[$0.upperBound...] })
        else {
            return .problem(.unsupportedMediaType, "media_type", "Send multipart/form-data.")
        }
        let name = boundary.prefix { $0 != ";" }.filter { $0 != "\"" }
        let parts = DemoPart.parts(of: request.body, between: "--" + name)
        return .json(DemoUpload(length: request.bodyLength, parts: parts), .created)
    }

    func file(_ name: String) -> LoopbackOrigin.Answer {
        guard name == "manual" else { return .problem(.notFound, "not_found", "There is no such file.") }
        return .init(
            fields: [
                "Content-Type": "text/plain; charset=utf-8",
                "Content-Disposition": #"attachment; filename="manual.txt"; filename*=UTF-8''Manual%20%C3%A9.txt"#,
            ], body: "Read me first.\n")
    }

    func login(_ form: DemoForm) -> LoopbackOrigin.Answer {
        guard let name = form["name"], !name.isEmpty, form["password"] == DemoAPI.password else {
            return .problem(.unauthorized, "wrong_password", "The name or the password is wrong.")
        }
        let token = state.withLock { state in
            state.tokenCount += 1
            let token = "demo-token-\(state.tokenCount)"
            state.tokens[token] = name
            return token
        }
        return .json(["access_token": token, "token_type": "Bearer"])
    }

    func profile(_ request: ReceivedRequest) -> LoopbackOrigin.Answer {
        let token = request.fields["Authorization"].flatMap { $0.hasPrefix("Bearer ") ? String($0.dropFirst(7)) : nil }
        guard let token, let name = state.withLock({ $0.tokens[token] }) else {
            return .problem(
                .unauthorized, "invalid_token", "Log in first.", fields: ["WWW-Authenticate": "Bearer"])
        }
        return .json(["name": name])
    }

    /// Three events at most, after which the client has to ask for the next ones.
    func events(after id: String?) -> LoopbackOrigin.Answer {
        let last = id.flatMap { Int($0) }.map { max(0, $0) } ?? 0
        guard last < eventCount else { return .init(.noContent) }
        let chunks = (last + 1...last + min(3, eventCount - last)).map { number in
            "id: \(number)\nevent: note\ndata: {\"note\": \(number),\ndata: \"change\": \"read\"}\n\n"
        }
        return .chunked(
            fields: ["Content-Type": "text/event-stream", "Cache-Control": "no-store"],
            chunks: ["retry: 1\n\n"] + chunks)
    }
}

/// The answer to an upload.
private struct DemoUpload: Encodable {
    let length: Int64
    let parts: [DemoPart]
}

/// A part of an upload as it was received.
private struct DemoPart: Encodable {
    let name: String?
    let filename: String?
    let type: String?
    let length: Int

    /// The parts of the content that was kept.
    static func parts(of content: Data, between delimiter: String) -> [DemoPart] {
        var parts: [DemoPart] = []
        var rest = content[...]
        var start = rest.range(of: Data(delimiter.utf8))
        while let begin = start {
            rest = rest[begin.upperBound...]
            guard rest.starts(with: Data("\r\n".utf8)) else { break }
            start = rest.range(of: Data("\r\n\(delimiter)".utf8))
            guard let end = start, let blank = rest.range(of: Data("\r\n\r\n".utf8)) else { break }
            let head = String(decoding: rest[..<blank.lowerBound], as: UTF8.self)
            parts.append(
                DemoPart(
                    name: parameter("name", in: head), filename: parameter("filename", in: head),
                    type: head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-type:") }
                        .map { $0.dropFirst(13).trimmingCharacters(in: .whitespaces) },
                    length: max(0, end.lowerBound - blank.upperBound)))
        }
        return parts
    }

    private static func parameter(_ name: String, in head: String) -> String? {
        guard let start = head.range(of: " \(name)=\"") else { return nil }
        return String(head[start.upperBound...].prefix { $0 != "\"" })
    }
}
