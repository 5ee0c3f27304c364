import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization

/// The origin server of a case, within the process and on virtual time.
final class CacheCaseOrigin: Sendable {
    /// A received request, and the fields of its response.
    struct Seen: Sendable {
        let number: Int
        let request: HTTPRequest
        var sent: [CacheCase.Field] = []
        var fields: HTTPFields = [:]
    }

    /// The error of a transport whose server closes the connection without an answer.
    private static let disconnection = TransportError(.connectionLost, at: .head)

    private let test: CacheCase
    private let token: String
    private let clock: VirtualClock
    private let pause: CacheCaseRun.Pause
    private let log = Mutex<[Seen]>([])
    /// The fields of the response to each entry, by its number.
    private let sent = Mutex<[Int: HTTPFields]>([:])

    init(_ test: CacheCase, token: String, clock: VirtualClock, pause: @escaping CacheCaseRun.Pause) {
        self.test = test
        self.token = token
        self.clock = clock
        self.pause = pause
    }

    var seen: [Seen] { log.withLock { $0 } }

    func answer(_ request: Request) async throws -> Response {
        let count = log.withLock { $0.count } + 1
        let number = request.head.headerFields[named: "Req-Num"].flatMap { Int($0) } ?? count
        let numbers = log.withLock { log in
            log.append(Seen(number: number, request: request.head))
            return log.map { String($0.number) }.joined(separator: " ")
        }
        guard test.requests.indices.contains(number - 1) else { return Response(status: .badRequest) }
        let entry = test.requests[number - 1]
        if let seconds = entry.responsePause { try await pause(.seconds(seconds)) }
        if entry.disconnect == true { throw Self.disconnection }

        var fields = responseFields(of: entry, to: request.head)
        let isConfirmed = entry.expectedType?.hasSuffix("validated") == true
        var status = HTTPResponse.Status(
            code: entry.responseStatus?.code ?? 200, reasonPhrase: entry.responseStatus?.reason ?? "OK")
        if isConfirmed {
            let previous = sent.withLock { $0[number - 1] } ?? previousFields(number, request.head)
            let asked = request.head.headerFields
            let same =
                asked[.ifModifiedSince].map { $0 == previous[.lastModified] } == true
                || asked[.ifNoneMatch].map { $0 == previous[.eTag] } == true
            status = same ? .notModified : HTTPResponse.Status(code: 999, reasonPhrase: "304 Not Generated")
        }
        fields[named: "Server-Base-Url"] = "https://cache.example/\(token)"
        fields[named: "Server-Request-Count"] = String(count)
        fields[named: "Client-Request-Count"] = String(number)
        fields[named: "Server-Now"] = String(Int(clock.date.timeIntervalSince1970 * 1000))
        fields[named: "Request-Numbers"] = numbers
        if !fields.contains(.contentType) { fields[.contentType] = "text/plain" }
        sent.withLock { $0[number] = fields }
        log.withLock { log in
            log[count - 1].sent = entry.responseHeaders ?? []
            log[count - 1].fields = fields
        }
        let hasBody = ![204, 304].contains(status.code) && request.head.method != .head
        let body = Body(entry.responseBody ?? token)
        return Response(status: status, fields: fields, body: hasBody ? body : .empty)
    }

    /// The fields of the preceding entry, which was never requested.
    private func previousFields(_ number: Int, _ request: HTTPRequest) -> HTTPFields {
        number > 1 ? responseFields(of: test.requests[number - 2], to: request) : HTTPFields()
    }

    private func responseFields(of entry: CacheCase.Exchange, to request: HTTPRequest) -> HTTPFields {
        var fields = HTTPFields()
        for field in entry.responseHeaders ?? [] {
            guard let name = HTTPField.Name(field.name), let value = field.value else { continue }
            fields.append(
                HTTPField(name: name, value: self.value(value, of: field.name, in: entry, for: request)))
        }
        return fields
    }

    private func value(
        _ value: CacheCase.Scalar, of name: String, in entry: CacheCase.Exchange, for request: HTTPRequest
    ) -> String {
        if case .number(let seconds) = value, CacheCaseDate.names.contains(name.lowercased()) {
            let date = clock.date + Double(seconds)
            return CacheCaseDate.text(date, inRFC850: entry.rfc850date?.contains(name) == true)
        }
        guard entry.magicLocations == true, ["location", "content-location"].contains(name.lowercased()) else {
            return value.text
        }
        return value.text.isEmpty ? request.path ?? "/" : "/\(token)/\(value.text)"
    }
}

enum CacheCaseDate {
    static let names: Set = ["date", "expires", "last-modified", "if-modified-since", "if-unmodified-since"]

    static func text(_ date: Date, inRFC850 isOld: Bool) -> String {
        let today = HTTPDate(date).description
        guard isOld else { return today }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEEE, dd-MMM-yy HH:mm:ss 'GMT'"
        return formatter.string(from: date)
    }
}

extension HTTPFields {
    /// The value of a field whose name is a text.
    subscript(named name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set { if let name = HTTPField.Name(name) { self[name] = newValue } }
    }
}
