#if CommandLine
import ArgumentParser
import Decorum
import Foundation

struct CacheCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache", abstract: "Shows, explains and removes what a cache in a folder has stored.",
        discussion: """
            Responses with credentials are never in a folder, so they are not shown.

            EXAMPLES:
              decorum cache list ~/.cache/app --origin https://api.example.com
              decorum cache explain ~/.cache/app https://api.example.com/items
              decorum cache purge ~/.cache/app --older-than 30
            """,
        subcommands: [
            CacheListCommand.self, CacheShowCommand.self, CacheExplainCommand.self, CachePurgeCommand.self,
            CacheStatsCommand.self,
        ])
}

struct CacheArgument: ParsableArguments {
    @Argument(help: "The folder of the cache.", completion: .directory) var folder: String

    /// Opens the store; another folder stays as it is.
    func store() throws(CommandFailure) -> FileResponseStore { try Self.store(in: folder) }

    static func store(in folder: String) throws(CommandFailure) -> FileResponseStore {
        let url = URL(filePath: folder.expandingHome, directoryHint: .isDirectory)
        guard FileResponseStore.isDirectory(url) else {
            throw CommandFailure(.noInput, "“\(folder)” is no folder of a cache.")
        }
        return FileResponseStore(directory: url)
    }

    static func line(of entry: FileResponseStore.Entry, at now: Date) -> String {
        let left = entry.freshness(at: now).timeToLive.rounded(.down)
        let freshness = "\(left > 0 ? "fresh" : "stale") for \(Int64(left.magnitude)) s"
        let user = entry.key.principal.map { "for \($0.name)" }
        let fields = entry.response.selectingFields.map { "by \($0.name.rawName)" }
        let parts = ["\(entry.response.head.status.code)", "\(entry.bodyLength) bytes", freshness, user] + fields
        return "\(entry.key.method.rawValue) \(entry.key.uri)  \(parts.compactMap(\.self).joined(separator: ", "))"
    }
}

/// The options that select stored responses, all of which have to fit.
struct CacheFilter: ParsableArguments {
    @Option(help: ArgumentHelp("The responses of a URL.", valueName: "url")) var url: String?
    @Option(help: ArgumentHelp("The responses of an origin, as in https://api.example.com.", valueName: "url"))
    var origin: String?
    @Option(help: ArgumentHelp("The responses that were stored for a user.", valueName: "name")) var principal: String?
    @Option(help: ArgumentHelp("The responses of which each variant is older.", valueName: "days")) var olderThan: UInt?

    /// The responses that fit, of the URL that comes first in the alphabet first.
    func entries(in store: FileResponseStore, at now: Date) async throws -> [FileResponseStore.Entry] {
        let uri = try url.map { url in
            guard let uri = ResponseKey.URI(try Request.get(url).head) else {
                throw CommandFailure(.usage, "“\(Redaction.described(url))” is no URL of a server.")
            }
            return uri
        }
        let origin = try origin.map { try Origin($0) }
        let fitting = await store.entries().filter { entry in
            (uri ?? entry.key.uri) == entry.key.uri && (origin ?? entry.key.uri.origin) == entry.key.uri.origin
                && (principal.map { Principal($0) } ?? entry.key.principal) == entry.key.principal
        }
        let limit = olderThan.map { now - Double($0) * 86_400 } ?? .distantFuture
        let keys = Dictionary(grouping: fitting, by: \.key).filter { $1.allSatisfy { $0.response.date < limit } }
        return keys.values.joined().sorted { ("\($0.key.uri)", $1.response.date) < ("\($1.key.uri)", $0.response.date) }
    }
}

struct CacheListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists the stored responses.")

    @OptionGroup var cache: CacheArgument
    @OptionGroup(title: "RESPONSES") var filter: CacheFilter
    @OptionGroup(title: "OUTPUT") var output: FindingOptions

    func run() async throws {
        let now = Date()
        let entries = try await filter.entries(in: cache.store(), at: now)
        let responses = entries.map { entry -> JSONObject in
            let freshness = entry.freshness(at: now)
            return [
                "method": entry.key.method.rawValue, "url": "\(entry.key.uri)", "principal": entry.key.principal?.name,
                "status": entry.response.head.status.code, "bytes": entry.bodyLength, "storedAt": entry.response.date,
                "usedAt": entry.usedAt, "age": freshness.age.rounded(.down),
                "timeToLive": freshness.timeToLive.rounded(.down),
                "selectingFields": entry.response.selectingFields.map(\.name.rawName),
            ]
        }
        try output.write(["responses": responses], orLines: entries.map { CacheArgument.line(of: $0, at: now) })
    }
}

struct CacheShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows the stored responses of a URL with their fields, or writes a content.")

    @OptionGroup var cache: CacheArgument
    @Argument(help: "The URL.") var url: String
    @Option(help: ArgumentHelp("The user for whom it was stored.", valueName: "name")) var principal: String?
    @Option(name: .shortAndLong, help: "A file for the content of the latest response.", completion: .file())
    var output: String?
    @OptionGroup(title: "OUTPUT") var options: ConsoleOptions

    func run() async throws {
        let (console, store, now) = (Console(options), try cache.store(), Date())
        let filter = try CacheFilter.parse(["--url=\(url)"] + (principal.map { ["--principal=\($0)"] } ?? []))
        let entries = try await filter.entries(in: store, at: now)
        for entry in entries {
            let fields = Redaction.standard.applied(to: entry.response.head.headerFields)
            let lines = fields.map { "  \($0.name.rawName): \($0.value)" }
            for line in [CacheArgument.line(of: entry, at: now)] + lines { try console.write(line: line.harmless) }
        }
        let missing = CommandFailure(.noRecording, "Nothing is stored for “\(Redaction.described(url))”.")
        guard let latest = entries.first else { throw missing }
        guard let output else { return }
        // It may have been removed meanwhile.
        let stored = await store.responses(for: latest.key).first { $0.date == latest.response.date }
        guard let body = stored?.body else { throw missing }
        try OutputFile(output, replacing: options.force).write(await body.data(upTo: Int(clamping: latest.bodyLength)))
    }
}

struct CachePurgeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge", abstract: "Removes the stored responses that all options fit; `list` shows them before.")

    @OptionGroup var cache: CacheArgument
    @Flag(help: "Remove everything.") var all = false
    @OptionGroup(title: "RESPONSES") var filter: CacheFilter
    @OptionGroup(title: "OUTPUT") var options: ConsoleOptions

    func validate() throws {
        let texts = [filter.url, filter.origin, filter.principal]
        guard all == (texts.allSatisfy { $0 == nil } && filter.olderThan == nil) else {
            throw ValidationError("Name what to remove: --all, or any of --url, --origin, --principal, --older-than.")
        }
    }

    func run() async throws {
        let store = try cache.store()
        let entries = try await filter.entries(in: store, at: Date())
        if all { await store.removeAllResponses() }
        for key in Set(entries.map(\.key)) { await store.removeResponses(for: key) }
        Console(options).say("Removed \(entries.count.counting("response")).")
    }
}

struct CacheStatsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "Counts the stored responses and their bytes, in all and for each origin.")

    @OptionGroup var cache: CacheArgument
    @OptionGroup(title: "OUTPUT") var output: FindingOptions

    func run() async throws {
        let (entries, now) = (try await cache.store().entries(), Date())
        func count(_ entries: [FileResponseStore.Entry]) -> (object: [String: Int], words: String) {
            let fresh = entries.count { $0.freshness(at: now).timeToLive > 0 }
            let bytes = entries.reduce(0) { $0 + $1.allocatedLength }
            let words = "\(entries.count.counting("response")), \(fresh) fresh, \(bytes) bytes on the disk"
            return (["responses": entries.count, "fresh": fresh, "bytesOnDisk": bytes], words)
        }
        let all = count(entries)
        let origins = Dictionary(grouping: entries) { $0.key.uri.origin?.description ?? "" }.mapValues(count)
        let lines = origins.sorted { $0.key < $1.key }.map { "  \($0.key)  \($0.value.words)" }
        let object: JSONObject = ["all": all.object, "origins": origins.mapValues(\.object)]
        try output.write(object, orLines: [all.words] + lines)
    }
}
#endif
