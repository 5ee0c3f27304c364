import Decorum
import HTTPTypes

/// A transport that answers each request with the same response, from memory.
struct MemoryConnection: Connection {
    let response: Response

    init(
        _ status: HTTPResponse.Status = .ok, fields: HTTPFields = [.contentType: "text/plain"],
        content: Body = "hello, world"
    ) {
        response = Response(status: status, fields: fields, body: status == .notModified ? .empty : content)
    }

    // Not inlined, because real transports are never inlined into their callers.
    @inline(never) func send(_ request: consuming Request) async throws -> Response {
        request.reportSending()
        return response
    }
}
