import Decorum
import Foundation
import HTTPTypes

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
