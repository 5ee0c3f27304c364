#if CommandLine
import Foundation
import Testing

@testable import DecorumCommand

struct TNLConfigurationTests {
    /// The options that a setting becomes, or the note about it.
    private static func text(of setting: String, isGlobal: Bool = false) throws -> String {
        var configuration = TNLConfiguration()
        configuration.add(setting, isGlobal: isGlobal)
        let options = try configuration.options()
        return (options.words + options.notes).joined(separator: " ")
    }

    static let rows: [(setting: String, words: String)] = [
        ("redirectPolicy: 0", "--redirects=none"), ("redirectPolicy: 1", "--redirects=all"),
        ("redirectPolicy: 2", "--redirects=same-origin"), ("redirectPolicy:3", "--redirects=all"),
        ("idleTimeout: 5", "--idle-timeout=5.0"), ("idleTimeout: 0", "--idle-timeout=100000000.0"),
        ("attemptTimeout: 1.5", "--attempt-timeout=1.5"), ("attemptTimeout: 0", "--attempt-timeout=100000000.0"),
        ("operationTimeout: 1e300", "--timeout=100000000.0 --set=time.body=100000000.0"),
        ("operationTimeout: 30", "--timeout=30.0 --set=time.body=30.0"), ("connectivityOptions: 0", ""),
        ("connectivityOptions: 1", "--wait-for-network"), ("connectivityOptions: 3", "--wait-for-network"),
        ("cachePolicy: 0", ""), ("cachePolicy: 1", "--cache=off"), ("cachePolicy: 4", "--cache=off"),
        ("cachePolicy: 5", "--cache=off"), ("shouldSetCookies: NO", "--cookies=none"),
        ("cookieAcceptPolicy: 1", "--cookies=none"), ("protocolOptions: 0", ""), ("responseDataConsumptionMode: 3", ""),
    ]
    static let globalRows: [(setting: String, words: String)] = [
        ("idleTimeoutMode: 0", "--idle-timeout=100000000.0"), ("idleTimeoutMode: 2", ""),
        ("timeoutIntervalBetweenDataTransfer: 3", "--idle-timeout=3.0"), ("timeoutIntervalBetweenDataTransfer: 0", ""),
    ]

    @Test func `A setting of tnlcli is an option of the request`() throws {
        for (setting, words) in Self.rows { #expect(try Self.text(of: setting) == words, "\(setting)") }
        for (setting, words) in Self.globalRows {
            #expect(try Self.text(of: setting, isGlobal: true) == words, "\(setting)")
        }
    }

    static let noted = [
        "executionMode: 8", "discretionary: yes", "shouldLaunchAppForBackgroundEvents: true",
        "shouldUseExtendedBackgroundIdleMode: 1", "sharedContainerIdentifier: group.a", "networkServiceType: 1",
        "allowsCellularAccess: false", "contributeToExecutingNetworkConnectionsCount: no", "skipHostSanitization: 0",
        "deferrableInterval: 1", "responseComputeHashAlgorithm: 1", "protocolOptions: 2", "cachePolicy: 2",
        "shouldSetCookies: true", "cookieAcceptPolicy: 0", "cookieAcceptPolicy: 2", "connectivityOptions: 2",
    ]
    static let skipped = [
        "redirectPolicy: two", "redirectPolicy: 9", "shouldSetCookies: maybe", "idleTimeout: 5s", "retries: 3",
        "idleTimeoutMode: 0", "redirectPolicy", "idleTimeout: inf", "connectivityOptions: 4",
    ]

    @Test func `A setting without effect, an unknown and an unsuitable one have a note`() throws {
        for setting in Self.noted + Self.skipped {
            let note = Self.skipped.contains(setting) ? /“.*” is skipped.*/ : /“.*” has no effect.*/
            #expect(try Self.text(of: setting).wholeMatch(of: note) != nil, "\(setting)")
        }
        #expect(throws: CommandFailure.self) { try Self.text(of: "cachePolicy: 3") }
    }

    @Test func `Each of the 21 keys of tnlcli is known, and a file of them is an object of texts`() {
        let keys = (Self.rows.map(\.setting) + Self.noted).map { $0.prefix { $0 != ":" } }
        #expect(Set(keys).count == 21)
        var configuration = TNLConfiguration()
        #expect(throws: CommandFailure.self) { try configuration.add(file: Data(#"{"idleTimeout": 5}"#.utf8)) }
    }
}
#endif
