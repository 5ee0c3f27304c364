#if CommandLine
import Foundation

/// The configuration of a request by tnlcli's keys, and what it becomes here.
struct TNLConfiguration {
    private static let app = "it is for apps on Apple's systems"
    /// Why a setting has no effect, whatever its value is.
    private static let reasons = [
        "executionMode": app, "networkServiceType": app, "discretionary": app, "allowsCellularAccess": app,
        "shouldLaunchAppForBackgroundEvents": app, "shouldUseExtendedBackgroundIdleMode": app,
        "sharedContainerIdentifier": app, "skipHostSanitization": "no host is changed",
        "contributeToExecutingNetworkConnectionsCount": "no activity is counted",
        "responseComputeHashAlgorithm": "no hash is computed",
        "deferrableInterval": "Twitter Network Layer does not use it either",
    ]
    private static let times = [
        "idleTimeout", "attemptTimeout", "operationTimeout", "timeoutIntervalBetweenDataTransfer",
    ]
    /// What the numbers from 0 on become that have names in Twitter Network Layer or in Foundation; a flag is 0 or 1.
    ///
    /// It is an option, nothing for what the command does anyway, or else why there is no effect.
    private static let effects: [String: [String]] = [
        "redirectPolicy": ["--redirects=none", "--redirects=all", "--redirects=same-origin", "--redirects=all"],
        "responseDataConsumptionMode": ["", "", "", ""], "idleTimeoutMode": ["", "", ""],
        "protocolOptions": ["", "", "`decorum --play` answers from a recording"],
        "cachePolicy": ["", "--cache=off", "`decorum --cache FOLDER` stores", "", "--cache=off", "--cache=off"],
        "cookieAcceptPolicy": [cookies, "--cookies=none", cookies], "shouldSetCookies": ["--cookies=none", cookies],
        "connectivityOptions": ["", "--wait-for-network", "it is about the bit 1", "--wait-for-network"],
    ]
    private static let cookies = "`decorum --cookies FILE` keeps cookies"
    /// The longest time in seconds, which stands for no limit.
    private static let longest = 1e8

    private var values: [String: Double] = [:]
    /// What is wrong about settings that are skipped.
    private var mistakes: [String] = []

    /// Whether the content of the response is thrown away.
    var discardsContent: Bool { whole("responseDataConsumptionMode") == 0 }

    /// Adds the settings of a file, which is a JSON object of texts.
    mutating func add(file document: Data) throws(CommandFailure) {
        for (name, value) in try FieldFile.texts(document) { set(name, value, isGlobal: false) }
    }

    /// Adds a setting of the request, as in `redirectPolicy: 2`, or one of all requests.
    mutating func add(_ setting: String, isGlobal: Bool = false) {
        if let (name, value) = Self.pair(setting) { return set(name, value, isGlobal: isGlobal) }
        mistakes.append("“\(setting.shortened)” is skipped. Write name: value.")
    }

    private mutating func set(_ name: String, _ text: String, isGlobal: Bool) {
        let isKnown = Self.times.contains(name) || Self.reasons[name] ?? Self.effects[name]?.first != nil
        guard isKnown, isGlobal == ["idleTimeoutMode", "timeoutIntervalBetweenDataTransfer"].contains(name) else {
            mistakes.append("“\(name.shortened)” is skipped. It is no setting of tnlcli.")
            return
        }
        let number = ["true": 1, "yes": 1, "false": 0, "no": 0][text.lowercased()] ?? Double(text)
        guard let value = Self.reasons[name].map({ _ in 0 }) ?? number, value.isFinite else {
            mistakes.append("“\(name)” is skipped. It is a number, or true or false.")
            return
        }
        values[name] = value
    }

    /// The number of a setting without its fraction; nil if it is not set.
    private func whole(_ name: String) -> Int? { values[name].map { Int(exactly: $0.rounded(.towardZero)) ?? .max } }

    /// The settings as options of `decorum request`, and notes about settings without effect.
    func options() throws(CommandFailure) -> (words: [String], notes: [String]) {
        guard whole("cachePolicy") != 3 else {
            throw CommandFailure(.usage, "Nothing is stored for “cachePolicy: 3”. Use `decorum --cache only:FOLDER`.")
        }
        var (words, notes) = (times, mistakes)
        for name in values.keys.sorted() {
            if let reason = Self.reasons[name] { notes.append("“\(name)” has no effect: \(reason).") }
            guard let effects = Self.effects[name], let number = whole(name) else { continue }
            switch effects.indices.contains(number) ? effects[number] : nil {
            case ""?: break
            case let word? where word.hasPrefix("--"): words.append(word)
            case let reason?: notes.append("“\(name): \(number)” has no effect here: \(reason).")
            case nil: notes.append("“\(name)” is skipped. It has no number \(number).")
            }
        }
        return (words, notes)
    }

    /// The limits of time as options; a number that is too small stands for no limit.
    private var times: [String] {
        func limit(_ name: String, _ shortest: Double) -> Double? {
            values[name].map { $0 < shortest ? Self.longest : min($0, Self.longest) }
        }
        var words: [String] = []
        let idle = whole("idleTimeoutMode") == 0 ? Self.longest : limit("idleTimeout", 0.1)
        let pause = limit("timeoutIntervalBetweenDataTransfer", 0.1).flatMap { $0 < Self.longest ? $0 : nil }
        if let shortest = [idle, pause].compactMap(\.self).min() { words.append("--idle-timeout=\(shortest)") }
        if let attempt = limit("attemptTimeout", 1) { words.append("--attempt-timeout=\(attempt)") }
        if let call = limit("operationTimeout", 1) { words += ["--timeout=\(call)", "--set=time.body=\(call)"] }
        return words
    }

    /// The texts before and after the first colon, without blanks around them; nil without a colon.
    static func pair(_ text: String) -> (name: String, value: String)? {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        return (parts[0].trimmingCharacters(in: .whitespaces), parts[1].trimmingCharacters(in: .whitespaces))
    }
}
#endif
