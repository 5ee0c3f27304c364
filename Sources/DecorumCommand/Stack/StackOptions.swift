#if CommandLine
import ArgumentParser
import Decorum
import DecorumCookies
import DecorumSecrets
import DecorumTraffic
import Foundation

/// The options for the layers of a stack.
struct StackOptions: ParsableArguments {
    @Option(help: "Take settings from a file of JSON, or app, server or tool.", completion: .file()) var stack: String?
    @Option(help: .init("Set one, as in retries.retries=1.", valueName: "key=value")) var set: [String] = []
    @Flag(inversion: .prefixedNo, help: "Take settings from ~/.config/decorum/config.json.") var config = true

    @Option(help: "Send again at most so often.") var retries: UInt?
    @Option(help: "Bound the retries: shared, unlimited, or a number for each call.") var retryBudget: String?
    @Option(help: "Limit the time of a call until its head.") var timeout: TimeArgument?
    @Option(help: "Limit the time of an attempt until its head.") var attemptTimeout: TimeArgument?
    @Option(help: "Limit the time without a byte.") var idleTimeout: TimeArgument?
    @Option(help: "Send a second request where the first is slow, as in p95.") var hedge: HedgeArgument?
    @Flag(help: "Send identical requests at the same time once.") var coalesce = false
    @Option(help: "Use a cache: off, memory, a folder, or only:FOLDER to send nothing.", completion: .directory)
    var cache: String?
    @Option(help: "The redirections to follow.") var redirects: Redirects?
    @Option(help: "Follow at most so many redirections.") var maxRedirects: UInt?
    @Option(help: "Keep cookies in a file; none for no cookies.", completion: .file()) var cookies: String?
    @Option(help: "Begin at most so many requests, as in 10/s.") var rate: RateArgument?
    @Option(help: "Inject delay:200ms, bandwidth:BYTES, loss:0.1, status:503:0.1, truncation:0.1 or corruption:0.1.")
    var fault: [FaultArgument] = []
    @Flag(help: "Wait for the network where it is not reachable.") var waitForNetwork = false
    @Option(help: "Compress content: gzip, deflate, br or zstd.") var compress: String?
    @Option(help: "Act for a user, whose responses and cookies are kept apart.") var principal: String?
    @Flag(help: "Allow credentials over http to other machines.") var allowUnencryptedCredentials = false

    enum Redirects: String, ExpressibleByArgument, CaseIterable, Sendable {
        case none, get, all
        case sameOrigin = "same-origin"
    }

    /// The settings of the user's file, the environment, a file, and the options; what comes later counts.
    func stack(environment: [String: String]) throws -> StandardStack {
        guard retryBudget.map({ ["shared", "unlimited"].contains($0) || UInt($0) != nil }) ?? true else {
            throw CommandFailure(.usage, "The budget of retries is shared, unlimited, or a whole number for each call.")
        }
        guard !["", "only"].contains(cache) else {
            throw CommandFailure(.usage, "The cache has no folder. Write --cache FOLDER or --cache only:FOLDER.")
        }
        if cacheUse.use != .standard, let folder = cacheUse.folder { _ = try CacheArgument.store(in: folder) }
        // A file that names no preset changes the settings of a tool.
        var settings = try JSONValue(settings: "tool")
        let home = environment["HOME", default: ""] + "/.config"
        let own = (environment["XDG_CONFIG_HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? home) + "/decorum/config.json"
        let isUsed = config && FileManager.default.fileExists(atPath: own)
        let files = [isUsed ? own : nil, environment["DECORUM_STACK"], stack]
        for file in files.compactMap(\.self) where !file.isEmpty { try settings.merge(JSONValue(settings: file)) }
        for assignment in set + options { try settings.merge(JSONValue(assignment: assignment)) }
        var stack = try JSONDecoder().decode(StandardStack.self, from: Data(settings.document()))
        // The exit status tells it.
        stack.statusValidation = false
        if stack.client == nil, stack.fields[.userAgent] == nil {
            stack.client = try ClientInformation(name: "decorum", version: PackageVersion.current, system: "")
        }
        if redirects == .get { stack.redirects = .init("get") { $0.method == .get || $0.method == .head } }
        return stack
    }

    /// The options as assignments.
    private var options: [String] {
        let values: [(key: String, value: (any CustomStringConvertible)?)] = [
            ("retries.retries", retries), ("retries.budget", retryBudget ?? retries.map { String($0) }),
            ("retries", retries == 0 ? false : nil), ("time.call", timeout?.seconds),
            ("time.idle", idleTimeout?.seconds), ("attemptTime.head", attemptTimeout?.seconds),
            ("redirects", redirects.flatMap { [.none: "false", .sameOrigin: "sameOrigin", .all: "standard"][$0] }),
            ("coalescing", coalesce ? true : nil),
            ("caching", cache.map { $0 != "off" }), ("redirectLimit", maxRedirects), ("compression.coding", compress),
            ("compression.minimumLength", compress.map { _ in 0 }),
        ]
        return values.compactMap { key, value in value.map { "\(key)=\($0)" } }
    }

    /// The layers that no setting has.
    func additions(generator: any RandomGenerator, clock: any DatedClock, jar: CookieJar?) -> [StandardStack.Addition] {
        let failure = CommandFailure(.noRecording, "The cache has no response that may be used.")
        let layers: [StandardStack.Addition?] = [
            jar.map { .keepingCookies(in: $0) },
            waitForNetwork ? .waitingForNetwork(clock: clock, generator: generator) : nil,
            hedge.map { .hedging($0.policy, clock: clock) }, rate.map { .limiting($0.policy, clock: clock) },
            cacheUse.use == .standard
                ? nil : .inside(of: .caching) { $0.intercepting("onlyStored", facts: []) { _, _ in throw failure } },
            allowUnencryptedCredentials ? .outside(of: .authentication) { $0.allowingUnencryptedCredentials() } : nil,
        ]
        return layers.compactMap(\.self) + fault.map { .injectingFaults($0.fault, clock: clock, generator: generator) }
    }

    /// How the cache is used, and its folder; nil for one in memory.
    var cacheUse: (use: CacheUse, folder: String?) {
        guard let cache, cache != "off", cache != "memory" else { return (.standard, nil) }
        return cache.hasPrefix("only:") ? (.preferringStored, String(cache.dropFirst(5))) : (.standard, cache)
    }
}

extension StandardStack {
    /// Reads the settings that a name stands for: a preset, or a file.
    init(named name: String) throws {
        self = try JSONDecoder().decode(StandardStack.self, from: Data(JSONValue(settings: name).document()))
    }
}

extension JSONValue {
    /// The settings that a name stands for: a preset, or a file.
    fileprivate init(settings name: String) throws(CommandFailure) {
        let isPreset = StandardStack.Preset(rawValue: name) != nil
        let document = isPreset ? Data(#"{"preset":"\#(name)"}"#.utf8) : try InputFile.data(name)
        guard let value = try? JSONValue(parsing: Array(document)), value.members != nil else {
            throw CommandFailure(.badInput, "“\(name)” is no JSON object with settings.")
        }
        self = value
    }

    /// Reads an assignment such as `time.call=20`; a value that is no JSON is a text.
    fileprivate init(assignment: String) throws(CommandFailure) {
        let parts = assignment.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else {
            throw CommandFailure(.usage, "“\(assignment.shortened)” sets nothing. Write key=value, as in time.call=20.")
        }
        let value = (try? JSONValue(parsing: Array(parts[1].utf8))) ?? .string(String(parts[1]))
        // No setting is so deep, and a path without a bound would exhaust the program's own stack.
        self = parts[0].split(separator: ".", maxSplits: 8).reversed().reduce(value) {
            .object([.init(String($1), $0)])
        }
    }

    /// Puts another value over this one; objects are merged key by key.
    fileprivate mutating func merge(_ other: JSONValue) {
        // A part that is taken stays as it is.
        if other == .bool(true), members != nil { return }
        guard case .object(var members) = self, let others = other.members else {
            self = other
            return
        }
        for other in others {
            if let index = members.firstIndex(where: { $0.name == other.name }) {
                members[index].value.merge(other.value)
            } else {
                members.append(other)
            }
        }
        self = .object(members)
    }
}

/// A number of requests in a time, as in `10/s` or `300/m`.
struct RateArgument: ExpressibleByArgument, Sendable, Hashable {
    let policy: LimitPolicy

    init?(argument: String) {
        let parts = argument.split(separator: "/", omittingEmptySubsequences: false)
        let periods: [Substring: Duration] = ["s": .seconds(1), "m": .seconds(60), "h": .seconds(3600)]
        guard parts.count == 2, let count = Int(parts[0]), count > 0, let period = periods[parts[1]] else { return nil }
        policy = LimitPolicy(Limits(rate: .init(count, per: period)), longestQueue: .max)
    }
}

/// The part of the answers that come before a second request is sent, as in `p95`.
struct HedgeArgument: ExpressibleByArgument, Sendable, Hashable {
    let policy: HedgingPolicy

    init?(argument: String) {
        guard argument.first == "p", let percent = Double(argument.dropFirst()), 1..<100 ~= percent else { return nil }
        policy = HedgingPolicy(percentile: percent / 100)
    }
}

/// A fault, as in `delay:200ms`, `loss:0.1` or `status:503:0.1`, where the last number is the share of requests.
struct FaultArgument: ExpressibleByArgument, Sendable, Hashable {
    let fault: Fault

    init?(argument: String) {
        let parts = argument.split(separator: ":").map(String.init)
        let hasValue = ["delay", "bandwidth", "status"].contains(parts.first)
        guard parts.count == 2 || parts.count == 3 && hasValue,
            let share = parts.count == 2 && hasValue ? 1 : Double(parts[parts.count - 1]), (0...1).contains(share)
        else { return nil }
        switch (parts[0], Int(parts[1]), TimeArgument(argument: parts[1])) {
        case ("delay", _, let time?): fault = .delay(time.duration, rate: share)
        case ("bandwidth", let bytes?, _) where bytes > 0: fault = .bandwidth(bytes, rate: share)
        case ("status", let code?, _) where (200..<600).contains(code): fault = .status(.init(code: code), rate: share)
        case ("loss", _, _): fault = .loss(rate: share)
        case ("truncation", _, _): fault = .truncation(rate: share)
        case ("corruption", _, _): fault = .corruption(rate: share)
        default: return nil
        }
    }
}
#endif
