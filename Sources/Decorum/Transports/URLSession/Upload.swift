import Foundation

/// The content of a request in a form that URLSession can send.
enum Upload: Sendable {
    case none
    case data(Data)
    case file(URL)
    case spooled(SpoolFile, URL)

    /// The number of bytes of a stream that are kept in memory.
    private static let memoryBound = 1 << 20

    /// Brings a body into that form; a stream is read to its end, into memory or else into a file.
    @concurrent init(_ body: Body) async throws {
        do {
            switch body.storage {
            case .bytes(let data): self = data.isEmpty ? .none : .data(data)
            case .file(let file): self = try Self.checked(file)
            case .stream: self = try await Self.spooled(body)
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            throw TransportError(.unreadableBody, at: .connecting, underlying: error)
        }
    }

    private static func checked(_ file: BodyFile) throws -> Upload {
        guard file.length > 0 else { return .none }
        // URLSession would announce the length that the file has now.
        guard try BodyFile(file.url) == file else { throw BodyLengthError() }
        return .file(file.url)
    }

    private static func spooled(_ body: Body) async throws -> Upload {
        var reader = try await body.open()
        var memory = Data()
        while let chunk = try await reader.next() {
            try Task.checkCancellation()
            memory.append(chunk)
            if memory.count > memoryBound { return try await spooled(memory, reader) }
        }
        return memory.isEmpty ? .none : .data(memory)
    }

    private static func spooled(_ head: Data, _ rest: any BodyReader) async throws -> Upload {
        let file = try SpoolFile(named: true)
        var reader = rest
        var offset: Int64 = 0
        var chunk: Data? = head
        while let data = chunk {
            try Task.checkCancellation()
            try file.write(data, at: offset)
            offset += Int64(data.count)
            chunk = try await reader.next()
        }
        guard let url = file.url else { throw POSIXError(.EBADF) }
        return .spooled(file, url)
    }
}
