import HTTPTypes

extension StandardStack {
    /// The settings that cannot be used, or that contradict each other.
    var problems: [StackSettingsError.Problem] {
        var list = ProblemList()
        list.check(self)
        if let time { list.check(time) }
        if let retries { list.check(retries, in: time) }
        if let caching { list.check(caching, in: time) }
        if let redirects { list.check("redirects.maximum", redirects.maximum > 0, .positive) }
        if let decompression { list.check(decompression) }
        if let coalescing {
            list.check("coalescing.backlogLimit", coalescing.backlogLimit >= 0, .notNegative)
            list.check("coalescing.patience", coalescing.patience >= .zero, .notNegative)
        }
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

/// The problems of settings, as far as they have been found.
private struct ProblemList {
    enum Demand: String {
        case positive = "has to be above zero; `false` leaves the part out"
        case notNegative = "must not be negative"
    }

    private(set) var problems: [StackSettingsError.Problem] = []

    mutating func check(_ path: String, _ isSuitable: Bool, _ demand: Demand) {
        check(path, isSuitable, demand.rawValue)
    }

    mutating func check(_ path: String, _ isSuitable: Bool, _ reason: @autoclosure () -> String) {
        if !isSuitable { problems.append(.init(path, reason())) }
    }

    mutating func check(_ stack: StandardStack) {
        if let baseURL = stack.baseURL {
            do throws(InvalidRequestError) {
                _ = try BaseURL(baseURL)
            } catch {
                check("baseURL", false, "cannot be used: \(error)")
            }
        }
        if let client = stack.client {
            do throws(InvalidRequestError) {
                _ = try ClientInformation(name: client.name, version: client.version)
            } catch {
                check("client", false, "cannot be used: \(error)")
            }
        }
        for language in stack.languages {
            check("languages", language.isLanguageRange, "has “\(language)”, which is no tag such as “pt-BR”")
        }
        for field in stack.fields {
            check(
                "fields.\(field.name)", !Redaction.standard.isSecret(field, secretFields: []),
                "holds credentials, which no settings hold; pass `authentication:` to `composed`")
        }
    }

    mutating func check(_ time: StandardStack.Times) {
        let times = [("call", time.call), ("attempt", time.attempt), ("body", time.body), ("idle", time.idle)]
        for (name, duration) in times { check("time.\(name)", duration ?? .seconds(1) > .zero, .positive) }
        guard let call = time.call else { return }
        if let attempt = time.attempt {
            check(
                "time.attempt", attempt < call,
                "is \(attempt.shortText), which is not shorter than `time.call`, \(call.shortText)")
        }
        if let body = time.body {
            check(
                "time.body", body >= call,
                "is \(body.shortText), which is shorter than `time.call`, \(call.shortText), and includes it")
        }
    }

    mutating func check(_ retries: StandardStack.Retries, in time: StandardStack.Times?) {
        check("retries", time?.call != nil, "need a limit for a whole call; set `time.call`")
        check("retries.maximum", retries.maximum > 0, .positive)
        check("retries.baseDelay", retries.baseDelay >= .zero, .notNegative)
        check("retries.maximumRetryAfter", retries.maximumRetryAfter >= .zero, .notNegative)
        check("retries.certainPart", (0...1).contains(retries.certainPart), "has to be from 0 to 1")
        check(
            "retries.maximumDelay", retries.maximumDelay >= retries.baseDelay,
            "is \(retries.maximumDelay.shortText), which is shorter than `retries.baseDelay`, \(retries.baseDelay.shortText)"
        )
    }

    mutating func check(_ caching: StandardStack.Caching, in time: StandardStack.Times?) {
        check("caching.size", caching.size > 0, .positive)
        check("caching.staleIfUnreachable", caching.staleIfUnreachable >= .zero, .notNegative)
        guard let slow = caching.staleIfSlow else { return }
        check("caching.staleIfSlow", slow > .zero, .positive)
        guard let call = time?.call else { return }
        check(
            "caching.staleIfSlow", slow < call,
            "is \(slow.shortText), which is not shorter than `time.call`, \(call.shortText)")
    }

    mutating func check(_ decompression: DecompressionPolicy) {
        check("decompression.codings", !decompression.codings.isEmpty, "names no coding; `false` leaves the part out")
        for coding in decompression.codings {
            check("decompression.codings", coding.format != nil, "has “\(coding)”, which is no known coding")
        }
        let limits = decompression.limits
        check("decompression.maximumRatio", limits.maximumRatio > 0, .positive)
        check("decompression.maximumLength", limits.maximumLength ?? 1 > 0, .positive)
        check("decompression.maximumCodings", limits.maximumCodings > 0, .positive)
    }

    mutating func check(_ compression: CompressionPolicy) {
        check(
            "compression.coding", compression.coding.format != nil,
            "is “\(compression.coding)”, which is no known coding")
        check("compression.minimumLength", compression.minimumLength >= 0, .notNegative)
    }
}
