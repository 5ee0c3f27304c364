import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// One run of a case through a cache, and the verdict.
struct CacheCaseRun {
    enum Verdict: Sendable, Equatable, CustomStringConvertible {
        case passed
        case failed(String)
        /// The preparation has failed, so that there is no result.
        case void(String)

        var description: String {
            switch self {
            case .passed: "passed"
            case .failed(let reason): "failed: \(reason)"
            case .void(let reason): "no verdict: \(reason)"
            }
        }
    }

    private struct Failure: Error {
        let check: String
        let text: String
        let entry: CacheCase.Exchange

        /// Whether the failure only shows that the preparation failed.
        var isPreparation: Bool { entry.setup == true || entry.setupTests?.contains(check) == true }
    }

    /// Lets time pass.
    typealias Pause = @Sendable (Duration) async throws -> Void

    let test: CacheCase
    let clock: VirtualClock
    let spawner: TrackingSpawner
    let pause: Pause
    let token: String

    init(
        test: CacheCase, clock: VirtualClock, spawner: TrackingSpawner,
        token: String = "t\(UInt64.random(in: 0 ... .max))", pause: @escaping Pause
    ) {
        (self.test, self.clock, self.spawner, self.token, self.pause) = (test, clock, spawner, token, pause)
    }

    /// Creates a run with a clock of its own, which moves at once.
    init(test: CacheCase) {
        let clock = VirtualClock()
        self.init(test: test, clock: clock, spawner: TrackingSpawner()) { clock.advance(by: $0) }
    }

    var origin: CacheCaseOrigin { CacheCaseOrigin(test, token: token, clock: clock, pause: pause) }

    func verdict(throughCacheIn store: any ResponseStore) async throws -> Verdict {
        let origin = origin
        let connection = ClosureConnection { request in
            request.reportSending()
            return try await origin.answer(request)
        }
        .caching(in: store, clock: clock, spawner: spawner)
        return try await verdict(through: connection, from: origin)
    }

    func verdict(through connection: some Connection, from origin: CacheCaseOrigin) async throws -> Verdict {
        do {
            var responses: [Int: HTTPFields] = [:]
            for (index, entry) in test.requests.enumerated() {
                let number = index + 1
                let request = try self.request(number, entry, after: responses[index])
                do {
                    let response = try await connection.send(request)
                    let body = try await response.body.text(upTo: 1 << 20)
                    try judge(response.head, body, number, entry)
                    responses[number] = response.head.headerFields
                } catch is TransportError {
                    let isExpected = entry.disconnect == true && entry.expectedType != "cached"
                    guard isExpected else { throw Failure(check: "expected_type", text: "disconnected", entry: entry) }
                }
                try await spawner.finished()
                if entry.pauseAfter == true { try await pause(.seconds(3)) }
            }
            try judge(origin.seen, responses)
            return .passed
        } catch let failure as Failure {
            let text = "\(failure.check): \(failure.text)"
            return failure.isPreparation ? .void(text) : .failed(text)
        }
    }

    private func request(_ number: Int, _ entry: CacheCase.Exchange, after previous: HTTPFields?) throws -> Request {
        var url = "https://cache.example/\(token)"
        if let filename = entry.filename { url += "/\(filename)" }
        if let query = entry.queryArg { url += "?\(query)" }
        var fields = HTTPFields()
        for field in entry.requestHeaders ?? [] {
            guard let name = HTTPField.Name(field.name), let value = field.value else { continue }
            fields.append(HTTPField(name: name, value: text(of: value, name, entry, previous)))
        }
        fields[named: "Test-ID"] = test.id
        fields[named: "Req-Num"] = String(number)
        let method = try #require(HTTPRequest.Method(entry.method))
        return try Request(method, url, fields: fields, body: entry.requestBody.map { Body($0) } ?? .empty)
    }

    private func text(
        of value: CacheCase.Scalar, _ name: HTTPField.Name, _ entry: CacheCase.Exchange, _ previous: HTTPFields?
    ) -> String {
        guard case .number(let seconds) = value, CacheCaseDate.names.contains(name.canonicalName) else {
            return value.text
        }
        let serverNow = previous?[named: "Server-Now"].flatMap { Double($0) }
        let base = entry.magicIms == true ? serverNow.map { Date(timeIntervalSince1970: $0 / 1000) } : nil
        return CacheCaseDate.text((base ?? clock.date) + Double(seconds), inRFC850: false)
    }

    // MARK: At the client

    private func judge(
        _ head: HTTPResponse, _ body: String, _ number: Int, _ entry: CacheCase.Exchange
    ) throws {
        let fields = head.headerFields
        func require(_ condition: Bool, _ check: String, _ text: String) throws {
            guard condition else { throw Failure(check: check, text: "request \(number), \(text)", entry: entry) }
        }
        let seen = (fields[named: "Request-Numbers"] ?? "").split(separator: " ")
        try require(Set(seen).count == seen.count, "retry", "\(seen)")

        let count = fields[named: "Server-Request-Count"].flatMap { Int($0) }
        switch entry.expectedType {
        case "cached":
            try require(
                count.map { $0 < number } ?? (head.status == .notModified), "expected_type", "not from the cache")
        case "not_cached":
            try require(count == number, "expected_type", "from the cache")
        default: break
        }

        switch entry.expectedStatus {
        case .some(.some(let status)): try require(head.status.code == status, "expected_status", "\(head.status)")
        case .any?: break
        case nil:
            let status = entry.responseStatus?.code ?? 200
            try require(head.status.code == status, "expected_status", "\(head.status)")
        }

        for field in entry.expectedResponseHeaders ?? [] {
            try require(isMet(field, fields), "expected_response_headers", "\(field.name)")
        }
        for field in entry.expectedResponseHeadersMissing ?? [] {
            guard let name = HTTPField.Name(field.name) else { continue }
            let isThere = field.value.map { fields[name] == $0.text } ?? fields.contains(name)
            try require(!isThere, "expected_response_headers_missing", "\(field.name)")
        }

        guard entry.checkBody != false, entry.method != "HEAD", ![204, 304].contains(head.status.code) else { return }
        switch entry.expectedResponseText {
        case .some(.some(let text)): try require(body == text, "expected_response_text", body)
        case .any?: break
        case nil: try require(body == entry.responseBody ?? token, "expected_response_text", body)
        }
    }

    private func isMet(_ field: CacheCase.Field, _ fields: HTTPFields) -> Bool {
        guard let name = HTTPField.Name(field.name), fields.contains(name) else { return false }
        let value = fields[name]
        if case .number(let seconds)? = field.value, CacheCaseDate.names.contains(name.canonicalName) {
            // Dates count from when the origin made the response.
            let made = fields[named: "Server-Now"].flatMap { Double($0) }.map { Date(timeIntervalSince1970: $0 / 1000) }
            return value == made.map { CacheCaseDate.text($0 + Double(seconds), inRFC850: false) }
        }
        switch field.parts.map(\.text) {
        case []: return true
        case let parts where parts.count == 1: return value == parts[0]
        case let parts where parts[0] == "=": return value == HTTPField.Name(parts[1]).flatMap { fields[$0] }
        case let parts where parts[0] == ">":
            return (value.flatMap { Double($0) } ?? 0) > (Double(parts[1]) ?? .infinity)
        default: return value == field.value?.text
        }
    }

    // MARK: At the origin

    private func judge(_ seen: [CacheCaseOrigin.Seen], _ responses: [Int: HTTPFields]) throws {
        var arrived = seen[...]
        for (index, entry) in test.requests.enumerated() {
            let number = index + 1
            guard entry.expectedType != "cached" else {
                // A request in the background does not answer the caller.
                if arrived.first?.number == number { arrived = arrived.dropFirst() }
                continue
            }
            func require(_ condition: Bool, _ check: String, _ text: String) throws {
                guard condition else { throw Failure(check: check, text: "request \(number), \(text)", entry: entry) }
            }
            guard let next = arrived.popFirst() else {
                let needsOrigin =
                    entry.expectedType != nil || entry.expectedRequestHeaders != nil || entry.expectedMethod != nil
                try require(!needsOrigin, "expected_type", "never arrived")
                continue
            }
            let fields = next.request.headerFields
            switch entry.expectedType {
            case "not_cached": try require(next.number == number, "expected_type", "another one arrived")
            case "etag_validated": try require(fields.contains(.ifNoneMatch), "expected_type", "no If-None-Match")
            case "lm_validated":
                try require(fields.contains(.ifModifiedSince), "expected_type", "no If-Modified-Since")
            default: break
            }
            for field in entry.expectedRequestHeaders ?? [] {
                try require(isMet(field, fields), "expected_request_headers", field.name)
            }
            for field in entry.expectedRequestHeadersMissing ?? [] {
                guard let name = HTTPField.Name(field.name) else { continue }
                let isThere = field.value.map { fields[name] == $0.text } ?? fields.contains(name)
                try require(!isThere, "expected_request_headers_missing", field.name)
            }
            if let method = entry.expectedMethod {
                try require(next.request.method.rawValue == method, "expected_method", next.request.method.rawValue)
            }
            for field in next.sent where field.isCompared && field.name.lowercased() != "date" {
                guard let name = HTTPField.Name(field.name), let received = responses[number] else { continue }
                try require(received[name] == next.fields[name], "response_headers", field.name)
            }
        }
    }
}
