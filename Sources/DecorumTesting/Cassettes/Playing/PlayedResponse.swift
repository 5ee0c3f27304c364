import Decorum
import Foundation
import HTTPTypes

extension Response {
    /// A recorded response as it arrived: its head, and its content in the recorded chunks and with the recorded end.
    ///
    /// A failure is thrown by `fail` at the end of the content.
    init(
        playing recorded: RecordedResponse, _ metadata: consuming ResponseMetadata, timing: CassetteRules.Timing,
        waits: PlayedWait?,
        fail: (@Sendable () async throws -> Void)?
    ) {
        let body = Body(length: fail == nil ? Int64(recorded.body.bytes.count) : nil, replay: .once) { _ in
            PlayedBodyReader(recorded, timing: timing, waits: waits, fail: fail)
        }
        self.init(
            head: HTTPResponse(status: recorded.statusLine, headerFields: recorded.fields), body: body,
            metadata: metadata)
        if !recorded.informational.isEmpty {
            self.metadata.informational = recorded.informational.map {
                HTTPResponse(status: .init(code: $0.status), headerFields: $0.fields)
            }
        }
        if let coding = recorded.coding {
            self.metadata.decodedContentCodings = coding.split(separator: ",").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
    }
}

/// Returns recorded content in the recorded chunks, and fails at the recorded point.
private struct PlayedBodyReader: BodyReader {
    private var rest: Data
    private var chunks: ArraySlice<RecordedResponse.Chunk>
    private let fail: (@Sendable () async throws -> Void)?
    private let fields: HTTPFields
    private let timing: CassetteRules.Timing
    private let waits: PlayedWait?

    init(
        _ response: RecordedResponse, timing: CassetteRules.Timing, waits: PlayedWait?,
        fail: (@Sendable () async throws -> Void)?
    ) {
        rest = response.body.bytes
        chunks = response.chunks[...]
        fields = response.trailers
        self.fail = fail
        self.timing = timing
        self.waits = waits
    }

    mutating func next() async throws -> Data? {
        while !rest.isEmpty {
            try Task.checkCancellation()
            guard let chunk = chunks.popFirst() else {
                defer { rest = Data() }
                return rest
            }
            try await wait(milliseconds: chunk.pause)
            let data = rest.prefix(chunk.length)
            rest = rest.dropFirst(chunk.length)
            if !data.isEmpty { return data }
        }
        try await fail?()
        return nil
    }

    private func wait(milliseconds: Int) async throws {
        guard let pause = timing.pause(milliseconds: milliseconds) else { return }
        try await waits?.wait(for: pause, at: .body)
    }

    var trailers: HTTPFields? { fields.isEmpty ? nil : fields }
}

extension CassetteRules.Timing {
    /// Whether a recorded pause may be waited for.
    var mayWait: Bool {
        if case .immediate = self { false } else { true }
    }

    /// The pause to make for a recorded pause; nil for none.
    func pause(milliseconds: Int) -> Duration? {
        let factor: Double
        switch self {
        case .immediate: return nil
        case .recorded: factor = 1
        case .scaled(let scale): factor = scale
        }
        guard milliseconds > 0, factor > 0 else { return nil }
        // The limit on the factor avoids an overflow of `Duration`, because a file may hold any number.
        return .milliseconds(milliseconds) * min(factor, 1000)
    }
}
