public import Decorum
import Foundation
import HTTPTypes

extension Body {
    /// Creates a body from the fields and files of a form, with the media type `multipart/form-data` and its boundary.
    ///
    /// It can be read as often as each of its parts can. The length is known where that of each part is; a server that wants
    /// `Content-Length` needs it.
    ///
    /// - Parameters:
    ///   - form: The fields and files.
    ///   - generator: The source of the boundary, which is in no part that is in memory.
    /// - Throws: `InvalidRequestError` when the generator repeats itself.
    public init(
        multipart form: Multipart, generator: any RandomGenerator = SystemGenerator()
    ) throws(InvalidRequestError) {
        let boundary = try MultipartBoundary.choose(for: form.parts, generator)
        var pieces: [Body] = []
        for (index, part) in form.parts.enumerated() {
            let head = MultipartHead.bytes(part, boundary: boundary)
            pieces.append(Body(index == 0 ? head : Data("\r\n".utf8) + head))
            pieces.append(part.body)
        }
        pieces.append(Body(Data("\(form.parts.isEmpty ? "" : "\r\n")--\(boundary)--\r\n".utf8)))
        self = Body(joining: pieces).typed(as: "multipart/form-data; boundary=\(boundary)")
    }

    /// Content of at most this many bytes is copied into one piece of memory, which every layer can compare and sign.
    private static let copyLimit: Int64 = 256 << 10

    private init(joining pieces: [Body]) {
        let length = pieces.reduce(Int64?(0)) { sum, piece in sum.flatMap { sum in piece.length.map { sum + $0 } } }
        if let length, length <= Self.copyLimit, pieces.allSatisfy({ $0.bytes != nil }) {
            self.init(pieces.reduce(into: Data(capacity: Int(length))) { $0 += $1.bytes ?? Data() })
            return
        }
        let replay = pieces.map(\.replay).min() ?? .fromAnyOffset
        self.init(length: length, replay: length == nil ? Swift.min(replay, .fromStart) : replay) { offset in
            try await JoinedBodyReader(pieces, from: offset)
        }
    }
}

/// Reads bodies one behind the other, and opens each when the one before it has ended.
private struct JoinedBodyReader: BodyReader {
    private var pieces: ArraySlice<Body>
    private var reader: (any BodyReader)?

    init(_ pieces: [Body], from offset: Int64) async throws {
        var rest = pieces[...]
        var offset = offset
        while let length = rest.first?.length, offset > 0, offset >= length {
            offset -= length
            rest.removeFirst()
        }
        reader = try await rest.popFirst()?.open(at: offset)
        self.pieces = rest
    }

    mutating func next() async throws -> Data? {
        while reader != nil {
            if let chunk = try await reader?.next() { return chunk }
            reader = try await pieces.popFirst()?.open()
        }
        return nil
    }

    // The fields behind the content of one part are no fields of the whole.
    var trailers: HTTPFields? { nil }
}
