import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// A cache with a flaw, or with none: it shows that a history finds the flaw.
final class PlantedCache: Connection {
    enum Flaw: CaseIterable {
        case none, ignoresPrincipals, ignoresCookies, ignoresTypes, ignoresURIs, ignoresChanges, ignoresSignOut
        case ignoresAge, ignoresNoCache, losesTheEnd, mixesContents

        /// The mistake that the flaw leads to.
        var mistake: HistoryModel.Mistake? {
            switch self {
            case .none: nil
            case .ignoresPrincipals: .otherPrincipal
            case .ignoresCookies: .otherCookie
            case .ignoresTypes: .otherType
            case .ignoresURIs: .otherResource
            case .ignoresChanges: .outdated
            case .ignoresSignOut: .beforeSignOut
            case .ignoresAge: .tooOld
            case .ignoresNoCache: .unconfirmed
            case .losesTheEnd, .mixesContents: .mixed
            }
        }
    }

    private struct Key: Hashable {
        let path: String
        let principal: Principal?
        let fields: HTTPFields
    }

    private struct Entry {
        let response: Response
        let content: Data
        let time: Int
    }

    private let base: HistoryOrigin
    private let world: HistoryWorld
    private let flaw: Flaw
    private let entries = Mutex<[Key: Entry]>([:])

    init(base: HistoryOrigin, world: HistoryWorld, flaw: Flaw) {
        self.base = base
        self.world = world
        self.flaw = flaw
    }

    var layers: [Layer] { base.layers }

    func send(_ request: consuming Request) async throws -> Response {
        let request = request
        guard request.head.method == .get else { return try await change(request) }
        // A part is always requested from the server.
        if request.head.headerFields.contains(.range) { return try await base.send(request) }
        let key = key(of: request)
        if let entry = entries.withLock({ $0[key] }), isUsable(entry) {
            var response = entry.response
            response.metadata.source = .cache
            response.body = Body(damaged(entry.content))
            return response
        }
        let time = world.time
        var response = try await base.send(request)
        let content = try await response.body.data(upTo: 1 << 20)
        response.body = Body(content)
        entries.withLock { [response] entries in
            let stored = flaw == .mixesContents ? mixed(entries.values.first?.content, content) : content
            entries[key] = Entry(response: response, content: stored, time: time)
        }
        return response
    }

    private func key(of request: Request) -> Key {
        var fields = request.head.headerFields
        if flaw == .ignoresCookies { fields[.cookie] = nil }
        if flaw == .ignoresTypes { fields[.accept] = nil }
        return Key(
            path: flaw == .ignoresURIs ? "" : request.head.path ?? "",
            principal: flaw == .ignoresPrincipals ? nil : request.options.principal, fields: fields)
    }

    private func isUsable(_ entry: Entry) -> Bool {
        let isConfirmed = entry.response.head.headerFields[.cacheControl] != "no-cache"
        return (isConfirmed || flaw == .ignoresNoCache)
            && (world.time - entry.time <= ResourceKind.lifetime || flaw == .ignoresAge)
    }

    private func damaged(_ content: Data) -> Data {
        flaw == .losesTheEnd ? Data(content.dropLast()) : content
    }

    /// The start of one content, and the rest of another.
    private func mixed(_ other: Data?, _ content: Data) -> Data {
        Data((other ?? content).prefix(20) + content.dropFirst(20))
    }

    private func change(_ request: Request) async throws -> Response {
        let response: Response
        do {
            response = try await base.send(request)
        } catch {
            forget([request.head.path])
            throw error
        }
        forget([request.head.path, response.head.headerFields[.contentLocation]])
        return response
    }

    private func forget(_ paths: [String?]) {
        guard flaw != .ignoresChanges else { return }
        entries.withLock { entries in
            entries = entries.filter { flaw != .ignoresURIs && !paths.contains($0.key.path) }
        }
    }

    @Sendable func signOut(_ principal: Principal?) async {
        guard flaw != .ignoresSignOut else { return }
        entries.withLock { entries in entries = entries.filter { $0.key.principal != principal } }
    }

    @Sendable func removeEverything() async {
        entries.withLock { $0 = [:] }
    }
}
