import HTTPTypes

extension StandardStack: Codable {
    /// Reads settings that differ from a preset, which the key `preset` names.
    ///
    /// - Parameter decoder: The decoder of the file.
    /// - Throws: ``StackSettingsError`` for unknown, unsuitable or contradictory settings, with their paths.
    public init(from decoder: any Decoder) throws {
        let path = decoder.codingPath.map(\.stringValue).joined(separator: ".")
        let prefix = path.isEmpty ? "" : path + "."
        guard case .members(var members) = try SettingsValue(from: decoder) else {
            throw StackSettingsError([.init(path.isEmpty ? "settings" : path, "have to be an object")])
        }
        var problems: [StackSettingsError.Problem] = []
        var preset = Preset.app
        if let value = members.removeValue(forKey: "preset") {
            let form = SettingsForm<Preset>.choice
            if let read = form.read(value) {
                preset = read
            } else {
                problems.append(.init(prefix + "preset", "is \(value), but has to be \(form.expected)"))
            }
        }
        self.init(preset)
        Self.rows.read(members, at: path, into: &self, &problems)
        // A setting that could not be read contradicts none.
        let unread = problems.map(\.path)
        let file = SettingsValue.members(members)
        for problem in self.problems {
            let settings = [problem.path] + problem.others
            guard !settings.contains(where: { unread.hasPath(prefix + $0) }) else { continue }
            // A group that lacks a member may only seem to contradict itself.
            guard !problem.others.isEmpty || !unread.contains(where: { $0.isBelow(prefix + problem.path) }) else {
                continue
            }
            let inherited = settings.filter { !file.names($0) }.map { "`\($0)`" }
            let note = inherited.isEmpty ? "" : " (the preset “\(preset.rawValue)” sets \(inherited.listed))"
            problems.append(.init(prefix + problem.path, problem.reason + note))
        }
        guard problems.isEmpty else { throw StackSettingsError(problems) }
    }

    /// Writes all settings, with `false` for each part that is left out.
    ///
    /// It throws a ``StackSettingsError`` for what decoding would refuse, so that no credentials get into a file.
    public func encode(to encoder: any Encoder) throws {
        let problems = problems
        guard problems.isEmpty else { throw StackSettingsError(problems) }
        try SettingsValue.members(Self.rows.written(self)).encode(to: encoder)
    }

    private static let rows: [SettingsRow<StandardStack>] = [
        .optional("baseURL", \.baseURL, .text),
        .value("statusValidation", \.statusValidation, .flag),
        .part("callLog", \.callLog, defaults: .line, log),
        .part("wireLog", \.wireLog, defaults: .fields, log),
        .part("time", \.time, defaults: Times(), times),
        .value("idempotencyKeys", \.idempotencyKeys, .flag),
        .value("requestIDs", \.requestIDs, .flag),
        .part("client", \.client, defaults: Client(name: ""), client),
        .value("languages", \.languages, .list(of: .text)),
        .fields("fields", \.fields),
        .part("redirects", \.redirects, defaults: Redirects(), redirects),
        .part("decompression", \.decompression, defaults: .standard, decompression),
        .part("caching", \.caching, defaults: Caching(), caching),
        .part("coalescing", \.coalescing, defaults: .standard, coalescing),
        .part("retries", \.retries, defaults: Retries(), retries),
        .part("pacing", \.pacing, defaults: .standard, pacing),
        .part("compression", \.compression, defaults: .standard, compression),
    ]

    private static let log: [SettingsRow<Log>] = [
        .value("detail", \.detail, .choice), .value("bodyLimit", \.bodyLimit, .count),
    ]

    private static let times: [SettingsRow<Times>] = [
        .optional("call", \.call, .seconds), .optional("attempt", \.attempt, .seconds),
        .optional("body", \.body, .seconds), .optional("idle", \.idle, .seconds),
    ]

    private static let client: [SettingsRow<Client>] = [
        .value("name", \.name, .text), .optional("version", \.version, .text),
    ]

    private static let redirects: [SettingsRow<Redirects>] = [
        .value("maximum", \.maximum, .count), .value("targets", \.targets, .choice),
        .value("remembersPermanent", \.remembersPermanent, .flag),
    ]

    private static let decompression: [SettingsRow<DecompressionPolicy>] = [
        .value("codings", \.codings, .list(of: .coding)), .value("maximumRatio", \.limits.maximumRatio, .count),
        .optional("maximumLength", \.limits.maximumLength, .count),
        .value("maximumCodings", \.limits.maximumCodings, .count),
    ]

    private static let caching: [SettingsRow<Caching>] = [
        .value("size", \.size, .count), .value("staleIfUnreachable", \.staleIfUnreachable, .seconds),
        .value("staleIfError", \.staleIfError, .seconds), .optional("staleIfSlow", \.staleIfSlow, .seconds),
        .value("heuristicLimit", \.heuristicLimit, .seconds),
    ]

    private static let coalescing: [SettingsRow<CoalescingPolicy>] = [
        .value("ignoredFields", \.sortedIgnoredFields, .list(of: .fieldName))
    ]

    private static let retries: [SettingsRow<Retries>] = [
        .value("maximum", \.maximum, .count), .value("baseDelay", \.baseDelay, .seconds),
        .value("maximumDelay", \.maximumDelay, .seconds), .value("certainPart", \.certainPart, .number),
        .value("maximumRetryAfter", \.maximumRetryAfter, .seconds), .value("budget", \.budget, .choice),
    ]

    private static let pacing: [SettingsRow<PacingPolicy>] = [
        .value("longestWait", \.longestWait, .seconds), .value("longestPause", \.longestPause, .seconds),
        .value("heedsRateLimits", \.heedsRateLimits, .flag), .value("separatesRoutes", \.separatesRoutes, .flag),
    ]

    private static let compression: [SettingsRow<CompressionPolicy>] = [
        .value("coding", \.coding, .coding), .optional("level", \.level, .count),
        .value("minimumLength", \.minimumLength, .count),
        .value("compressesStreams", \.compressesStreams, .flag),
    ]
}

extension [String] {
    /// Whether a path is one of these, or below one.
    fileprivate func hasPath(_ path: String) -> Bool { contains { path == $0 || path.isBelow($0) } }
}

extension String {
    fileprivate func isBelow(_ path: String) -> Bool { hasPrefix(path + ".") || hasPrefix(path + "[") }
}

extension SettingsValue {
    /// Whether a file sets the value at a path, itself or with a group that the path leads through.
    fileprivate func names(_ path: String) -> Bool {
        guard case .members(let members) = self else { return true }
        let parts = path.split(separator: ".", maxSplits: 1)
        let key = parts.first?.prefix { $0 != "[" } ?? ""
        guard let value = members[String(key)] else { return false }
        return parts.count < 2 || value.names(String(parts[1]))
    }
}

extension CoalescingPolicy {
    fileprivate var sortedIgnoredFields: [HTTPField.Name] {
        get { ignoredFields.sorted { $0.canonicalName < $1.canonicalName } }
        set { ignoredFields = Set(newValue) }
    }
}
