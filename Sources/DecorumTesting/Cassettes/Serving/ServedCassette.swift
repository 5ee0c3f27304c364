import Decorum
import Foundation
import HTTPTypes

extension LoopbackOrigin {
    /// Starts an origin that plays a cassette, so that any client can be tested with it.
    ///
    /// ```swift
    /// let cassette = try Cassette(at: "Tests/Cassettes/feed.json", mode: .replay)
    /// let origin = try LoopbackOrigin(playing: cassette)
    /// let feed = try await download(origin.url + "/feed")
    /// origin.stop()
    /// try await cassette.finish()
    /// ```
    ///
    /// A request is matched as if it had been sent to the origin that was recorded: if there were several, to each of
    /// them. Of the matching interactions, the first unplayed one in the file is played. `Host` is not matched. All
    /// other rules of the cassette apply.
    ///
    /// - A response is sent in the chunks that were recorded, with the pauses that the cassette's rules define. Content
    ///   that was decoded when it was recorded is sent decoded.
    /// - For a recorded failure, the connection breaks: it is reset before the first byte, or closed within the
    ///   content.
    /// - A request without a matching interaction gets status 502. The content is the text of the
    ///   ``CassetteMissError``, which is redacted.
    ///
    /// Nothing is recorded, whatever the mode of the cassette.
    ///
    /// - Throws: ``SocketError`` when the system has no descriptor or port left; ``CassetteError`` if a URL of the
    ///   cassette cannot be read.
    public convenience init(playing cassette: Cassette) throws {
        try self.init(playing: cassette, at: SocketPlatform.loopback, port: 0)
    }

    /// Starts an origin that plays a cassette at a port of an address; 0 takes a free port.
    package convenience init(playing cassette: Cassette, at address: String, port: Int) throws {
        try self.init(
            at: address, port: port, clock: cassette.clock, keepingBodiesUpTo: cassette.rules.bodyLimit)
        let origins = cassette.recordedOrigins
        route(nil, "*") { request in
            do {
                let outcome = try cassette.play(anyOf: request.versions(at: origins))
                return Answer(playing: outcome, to: request, timing: cassette.rules.timing)
            } catch let miss as CassetteMissError {
                return Answer(.badGateway, fields: ["Content-Type": "text/plain; charset=utf-8"], body: "\(miss)\n")
            }
        }
    }
}

extension ReceivedRequest {
    fileprivate func versions(at origins: [String]) -> [RecordedRequest] {
        var head = head
        head.headerFields = head.headerFields.filter { $0.name.canonicalName != "host" }
        var request = RecordedRequest(head, secretFields: [])
        request.body.bytes = body
        request.trailers = HTTPFields(trailers)
        let path = head.path == "*" ? "" : head.path ?? ""
        return origins.map { origin in
            var version = request
            version.url = origin + path
            return version
        }
    }
}

extension Cassette {
    fileprivate var recordedOrigins: [String] {
        var origins: [String] = []
        var known: Set<String> = []
        for url in content.urls {
            let origin = String(MovedOrigin.origin(of: url))
            if known.insert(origin).inserted { origins.append(origin) }
        }
        return origins.isEmpty ? [""] : origins
    }
}

extension LoopbackOrigin.Answer {
    /// A recorded response as it was sent, except for a content coding that was undone; or a broken connection.
    init(playing outcome: RecordedOutcome, to request: ReceivedRequest, timing: CassetteRules.Timing) {
        guard let response = outcome.response else {
            self = .resetting
            return
        }
        var fields = response.fields
        for name in [.connection, .transferEncoding] as [HTTPField.Name] { fields[name] = nil }
        // A response to HEAD, and 304, have the length of content that they do not carry.
        let isBodiless = request.method == .head || [204, 304].contains(response.status)
        if !isBodiless { fields[.contentLength] = nil }

        var steps = response.informational.map { interim in
            LoopbackOrigin.Step.head(.init(code: interim.status), RawFields(interim.fields))
        }
        let needsChunks = outcome.failure != nil || !response.chunks.isEmpty || !response.trailers.isEmpty
        if isBodiless || !needsChunks || request.version == "HTTP/1.0" {
            steps.append(.response(response.statusLine, RawFields(fields), .bytes(response.body.bytes)))
            if outcome.failure != nil { steps.append(.close) }
        } else {
            fields[.transferEncoding] = "chunked"
            steps.append(.head(response.statusLine, RawFields(fields)))
            steps += response.chunkSteps(timing)
            // Without the last chunk, the content is incomplete.
            steps.append(outcome.failure == nil ? .lastChunk(trailers: RawFields(response.trailers)) : .close)
        }
        self.init(steps: steps)
    }
}

extension RecordedResponse {
    /// The content in the recorded chunks and with the recorded pauses; bytes beyond these chunks are one more chunk.
    fileprivate func chunkSteps(_ timing: CassetteRules.Timing) -> [LoopbackOrigin.Step] {
        var steps: [LoopbackOrigin.Step] = []
        var rest = body.bytes
        for chunk in chunks + [Chunk(pause: 0, length: rest.count)] {
            if let pause = timing.pause(milliseconds: chunk.pause) { steps.append(.pause(pause)) }
            let data = rest.prefix(chunk.length)
            rest = rest.dropFirst(chunk.length)
            // A chunk without bytes would be the last one.
            if !data.isEmpty { steps.append(.chunk(Data(data))) }
        }
        return steps
    }
}
