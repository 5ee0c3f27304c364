import Decorum
import Foundation
import HTTPTypes

/// A content coding that sends each byte twice, which stands for gzip: what is decoded has another length.
struct DoubledConnection: ComposedConnection {
    /// The typical mistakes of decoders.
    enum Mistake: CaseIterable, Sendable {
        case dropsTrailers, keepsContentLength, keepsContentEncoding, claimsCodedLength
        case collects, takesAShortChunkForTheEnd, endsAtAnError, wrapsErrors, makesNewResponse, opensTwice,
            keepsTransfer
        case decodesNothing, endsAtCancellation, rewritesFields
    }

    let base: AnyConnection
    var mistake: Mistake?
    private let kept = Kept<Body>()

    init(base: AnyConnection, mistake: Mistake? = nil) {
        self.base = base
        self.mistake = mistake
    }

    var layer: Layer { Layer(name: "doubled", facts: [.decodesContent, .changesResponse]) }

    static func encode(_ text: String) -> Body {
        Body(Data(text.utf8.flatMap { [$0, $0] }))
    }

    func send(_ request: consuming Request) async throws -> Response {
        var response = try await base.send(request)
        let mayBeEmpty = mistake != .decodesNothing
        guard response.head.headerFields[.contentEncoding] == "x-doubled", !mayBeEmpty || !response.body.isEmpty
        else { return response }
        if !mayBeEmpty, response.body.isEmpty { throw TransportError(.undecodableContent, at: .body) }

        if mistake != .keepsContentEncoding { response.head.headerFields[.contentEncoding] = nil }
        if mistake != .keepsContentLength { response.head.headerFields[.contentLength] = nil }
        if mistake == .rewritesFields { response.head.headerFields = HTTPFields(joining: response.head.headerFields) }
        let coded = response.body
        if mistake == .opensTwice { _ = try await coded.open() }
        if mistake == .keepsTransfer { kept.keep(coded) }
        if mistake == .collects {
            response.body = Body(Data(try await coded.data(upTo: 1 << 20).undoubled))
            return response
        }
        let mistake = mistake
        let body = Body(length: mistake == .claimsCodedLength ? coded.length : nil, replay: .once) { _ in
            Reader(reader: try await coded.open(), mistake: mistake)
        }
        if mistake == .makesNewResponse { return Response(head: response.head, body: body) }
        response.body = body
        return response
    }

    private struct Reader: BodyReader {
        var reader: any BodyReader
        let mistake: Mistake?
        var isRepeated = false

        mutating func next() async throws -> Data? {
            while let chunk = try await chunk() {
                var data = Data()
                for byte in chunk {
                    if !isRepeated { data.append(byte) }
                    isRepeated.toggle()
                }
                if !data.isEmpty { return data }
            }
            return nil
        }

        private mutating func chunk() async throws -> Data? {
            do {
                let chunk = try await reader.next()
                if mistake == .takesAShortChunkForTheEnd, chunk?.count ?? 0 < 32 { return nil }
                return chunk
            } catch {
                switch mistake {
                case .endsAtAnError where !(error is CancellationError): return nil
                case .endsAtCancellation where error is CancellationError: return nil
                case .wrapsErrors: throw TransportError(.undecodableContent, at: .body, underlying: error)
                default: throw error
                }
            }
        }

        var trailers: HTTPFields? {
            mistake == .dropsTrailers ? nil : reader.trailers
        }
    }
}

extension Data {
    fileprivate var undoubled: [UInt8] {
        enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
    }
}

extension HTTPFields {
    /// The fields of each name as one.
    fileprivate init(joining fields: HTTPFields) {
        self.init()
        for field in fields { self[field.name] = fields[field.name] }
    }
}
