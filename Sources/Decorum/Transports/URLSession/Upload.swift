import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The content of a request in a form that URLSession can send.
enum Upload: Sendable {
    case none
    case data(Data)
    case file(URL)
    case stream(StreamedBody)

    /// Brings a body into that form, away from the caller's actor.
    @concurrent init(_ body: Body) async throws {
        do {
            switch body.storage {
            case .bytes(let data): self = data.isEmpty ? .none : .data(data)
            case .file(let file): self = try Self.checked(file)
            case .stream: self = try await StreamedBody.upload(of: body)
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            throw TransportError(.unreadableBody, at: .connecting, underlying: error)
        }
    }

    private static func checked(_ file: BodyFile) throws -> Upload {
        // URLSession would announce the length that the file has now.
        guard try BodyFile(file.url) == file else { throw BodyLengthError() }
        return file.length == 0 ? .none : .file(file.url)
    }

    func makeTask(with request: URLRequest, in session: URLSession) -> URLSessionTask {
        switch self {
        case .none: session.dataTask(with: request)
        // Not the request's own body, to which Linux adds a Content-Type.
        case .data(let data): session.uploadTask(with: request, from: data)
        case .file(let url): session.uploadTask(with: request, fromFile: url)
        case .stream(let body): body.makeTask(with: request, in: session)
        }
    }
}
