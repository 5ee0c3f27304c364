import HTTPTypes

extension StandardStack {
    /// The settings that cannot be used, or that contradict each other.
    var problems: [StackSettingsError.Problem] { problems(replacing: []) }

    /// The settings that cannot be used, or that contradict each other.
    ///
    /// - Parameter replaced: The parts in whose places other layers stand, so that their settings are not used.
    /// - Returns: The problems.
    func problems(replacing replaced: Set<Part>) -> [StackSettingsError.Problem] {
        leavingOut(replaced).usedProblems(mayLackCallTime: replaced.contains(.callTime))
    }

    private func usedProblems(mayLackCallTime: Bool) -> [StackSettingsError.Problem] {
        var list = ProblemList()
        list.check(self)
        if let time { list.check(time) }
        if let retries {
            list.check(retries)
            if !mayLackCallTime, time?.call?.asLimit == nil {
                list.add("retries", "need a limit for a whole call; set `time.call`", others: ["time.call"])
            }
        }
        if let caching { list.check(caching, in: time) }
        if let redirects { list.check("redirects.maximum", redirects.maximum > 0, .positive) }
        if let decompression { list.check(decompression) }
        if let pacing {
            list.check("pacing.longestWait", pacing.longestWait >= .zero, .notNegative)
            list.check("pacing.longestPause", pacing.longestPause > .zero, .positive)
        }
        if let compression { list.check(compression) }
        for (path, log) in [("callLog", callLog), ("wireLog", wireLog)] {
            list.check("\(path).bodyLimit", log?.bodyLimit ?? 1 > 0, .positive)
        }
        return list.problems
    }
}

extension StandardStack {
    /// The settings without those of some parts.
    private func leavingOut(_ parts: Set<Part>) -> StandardStack {
        var stack = self
        for part in parts {
            switch part {
            case .statusValidation: stack.statusValidation = false
            case .callLog: stack.callLog = nil
            case .callTime: stack.time = stack.time.map { Times(call: nil, attempt: $0.attempt, idle: nil) }
            case .idempotencyKeys: stack.idempotencyKeys = false
            case .requestIDs: stack.requestIDs = false
            case .baseURL: stack.baseURL = nil
            case .fields: (stack.client, stack.languages, stack.fields) = (nil, [], [:])
            case .redirects: stack.redirects = nil
            case .decompression: stack.decompression = nil
            case .caching: stack.caching = nil
            case .coalescing: stack.coalescing = nil
            case .retries: stack.retries = nil
            case .pacing: stack.pacing = nil
            case .attemptTime: stack.time?.attempt = nil
            case .compression: stack.compression = nil
            case .wireLog: stack.wireLog = nil
            case .callObservation, .principal, .authentication, .attemptObservation: break
            }
        }
        return stack
    }
}

/// The problems of settings, as far as they have been found.
private struct ProblemList {
    enum Demand: String {
        case positive = "has to be above zero; `false` leaves the part out"
        case notNegative = "must not be negative"
    }

    private(set) var problems: [StackSettingsError.Problem] = []

    mutating func check(_ path: String, _ isSuitable: Bool, _ demand: Demand) {
        check(path, isSuitable, because: demand.rawValue)
    }

    mutating func check(
        _ path: String, _ isSuitable: Bool, with others: String..., because reason: @autoclosure () -> String
    ) {
        if !isSuitable { add(path, reason(), others: others) }
    }

    mutating func add(_ path: String, _ reason: String, others: [String] = []) {
        problems.append(.init(path, reason, others: others))
    }

    mutating func check(_ stack: StandardStack) {
        if let baseURL = stack.baseURL {
            do throws(InvalidRequestError) {
                let url = try BaseURL(baseURL)
                check(
                    "baseURL", !url.endsWithName,
                    because: "has to end with “/”: references replace what is behind the last slash")
                check(
                    "baseURL", !url.hasQuery,
                    because: "has a query, which references leave out; use `fields`, or add "
                        + "it to each request")
            } catch {
                add("baseURL", "cannot be used: \(Redaction.shownWords("\(error)"))")
            }
        }
        if let client = stack.client {
            do throws(InvalidRequestError) {
                _ = try ClientInformation(name: client.name, version: client.version)
            } catch {
                add("client", "cannot be used: \(Redaction.shownWords("\(error)"))")
            }
        }
        for (index, language) in stack.languages.enumerated() {
            check("languages[\(index)]", language.isLanguageRange, because: "is no tag such as “pt-BR”")
        }
        for field in stack.fields {
            check(
                "fields.\(field.name)", !Redaction.standard.isSecret(field, secretFields: []),
                because: "holds credentials, which no settings hold; pass `authentication:` to `composed`")
        }
    }

    mutating func check(_ time: StandardStack.Times) {
        let times = [("call", time.call), ("attempt", time.attempt), ("body", time.body), ("idle", time.idle)]
        for (name, duration) in times { check("time.\(name)", duration ?? .seconds(1) > .zero, .positive) }
        guard let call = time.call else { return }
        if let attempt = time.attempt {
            check(
                "time.attempt", attempt < call, with: "time.call",
                because: "is \(attempt.shortText), which is not shorter than `time.call`, \(call.shortText)")
        }
        if let body = time.body {
            check(
                "time.body", body >= call, with: "time.call",
                because: "is \(body.shortText), which is shorter than `time.call`, \(call.shortText), and includes it")
        }
    }

    mutating func check(_ retries: StandardStack.Retries) {
        check("retries.maximum", retries.maximum > 0, .positive)
        check("retries.baseDelay", retries.baseDelay >= .zero, .notNegative)
        check("retries.maximumRetryAfter", retries.maximumRetryAfter >= .zero, .notNegative)
        check("retries.certainPart", (0...1).contains(retries.certainPart), because: "has to be from 0 to 1")
        check(
            "retries.maximumDelay", retries.maximumDelay >= retries.baseDelay, with: "retries.baseDelay",
            because:
                "is \(retries.maximumDelay.shortText), which is shorter than `retries.baseDelay`, \(retries.baseDelay.shortText)"
        )
    }

    mutating func check(_ caching: StandardStack.Caching, in time: StandardStack.Times?) {
        check("caching.size", caching.size > 0, .positive)
        check("caching.staleIfUnreachable", caching.staleIfUnreachable >= .zero, .notNegative)
        check("caching.staleIfError", caching.staleIfError >= .zero, .notNegative)
        check("caching.heuristicLimit", caching.heuristicLimit >= .zero, .notNegative)
        guard let slow = caching.staleIfSlow else { return }
        check("caching.staleIfSlow", slow > .zero, .positive)
        guard let call = time?.call else { return }
        check(
            "caching.staleIfSlow", slow < call, with: "time.call",
            because: "is \(slow.shortText), which is not shorter than `time.call`, \(call.shortText)")
    }

    mutating func check(_ decompression: DecompressionPolicy) {
        check(
            "decompression.codings", !decompression.codings.isEmpty,
            because: "names no coding; `false` leaves the part out")
        for (index, coding) in decompression.codings.enumerated() {
            check("decompression.codings[\(index)]", coding.format != nil, because: "is no known coding")
        }
        let limits = decompression.limits
        check("decompression.maximumRatio", limits.maximumRatio > 0, .positive)
        check("decompression.maximumLength", limits.maximumLength ?? 1 > 0, .positive)
        check("decompression.maximumCodings", limits.maximumCodings > 0, .positive)
    }

    mutating func check(_ compression: CompressionPolicy) {
        check("compression.coding", compression.coding.format != nil, because: "is no known coding")
        check("compression.minimumLength", compression.minimumLength >= 0, .notNegative)
    }
}
