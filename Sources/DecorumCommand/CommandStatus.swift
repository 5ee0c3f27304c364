#if CommandLine
import ArgumentParser
import Decorum
import DecorumArchive
import DecorumEndpoints
import DecorumTesting
import DecorumTraffic
import DecorumTransfers
import Foundation

/// The exit status of the command; the numbers never change, and from 64 on are the ones of `sysexits.h`.
enum CommandStatus: Int32, Sendable, CaseIterable {
    case done, failedAssertion, timedOut, redirection, clientError, serverError, tooManyRedirections, notConnected
    case tls, brokenOff, refused, noRecording, limited
    case usage = 64
    case badInput, noInput
    case unavailable = 69
    case failed
    case cannotCreate = 73
    case cannotReadOrWrite
    case interrupted = 130

    /// The status for a response: a redirection counts only if it was not followed, which is how it gets here.
    init(ofResponse status: HTTPResponse.Status) {
        self =
            switch status.code {
            // Not Modified answers a condition of the request.
            case ..<300, 304: .done
            case ..<400: .redirection
            case ..<500: .clientError
            default: .serverError
            }
    }

    /// The status for an error.
    init(of error: any Error) {
        self =
            switch error {
            case let error as CommandFailure: error.status
            case let error as TransportError: Self.ofCodes[error.code] ?? .brokenOff
            case let error as StatusError: Self(ofResponse: error.status)
            case let error as DownloadError: Self.ofDownloads[error.reason] ?? .cannotReadOrWrite
            case is CancellationError: .interrupted
            case is RedirectionLimitError, is RedirectionLoopError: .tooManyRedirections
            case let error as InvalidRequestError where error.reason != .unencryptedCredentials: .usage
            case is InvalidRequestError, is HostPolicyError, is CredentialSourceError, is SecretFoundError: .refused
            case is CassetteMissError: .noRecording
            case is LimitError, is CircuitOpenError, is PacingError, is NetworkWaitError, is BodyLimitError,
                is CoalescingBacklogError:
                .limited
            case is StackSettingsError, is DecodingError, is HARFormatError, is CassetteError, is CassetteImportError:
                .badInput
            case is CassetteModeError: .usage
            case is CassetteDriftError: .failedAssertion
            case is CurlUnavailableError: .unavailable
            case is FileWritingError: .cannotCreate
            case CocoaError.fileNoSuchFile, CocoaError.fileReadNoSuchFile: .noInput
            case is PrivateFileError, is POSIXError, is CocoaError: .cannotReadOrWrite
            default: .failed
            }
    }

    /// The statuses of failures of the transport; other failures have broken off an exchange.
    private static let ofCodes: [TransportError.Code: Self] = [
        .timedOut: .timedOut, .deadlineExceeded: .timedOut, .connectionRefused: .notConnected,
        .hostNotFound: .notConnected, .unreachable: .notConnected, .proxyRefused: .notConnected, .closed: .notConnected,
        .tls: .tls, .limitExceeded: .limited, .unreadableBody: .noInput,
    ]

    /// The statuses of failures of a download; the others are failures of the disk.
    private static let ofDownloads: [DownloadError.Reason: Self] = [
        .unsuitableRequest: .usage, .fileExists: .cannotCreate, .unsafeName: .cannotCreate, .inUse: .cannotCreate,
        .wrongDigest: .failedAssertion, .tooManyRestarts: .brokenOff,
    ]
}

/// A failure of the command itself, with the words for the user; without them, they were said already.
struct CommandFailure: Error, Hashable {
    let status: CommandStatus
    let text: String?

    init(_ status: CommandStatus, _ text: String?) { (self.status, self.text) = (status, text) }

    /// The words for any error; nil if they were said already.
    static func text(of error: any Error) -> String? {
        switch error {
        // It may quote a word of the arguments.
        case let error as CommandFailure: error.text.map { Redaction.standard.applied(toText: $0) }
        case is CancellationError: "interrupted"
        case let error as CassetteImportError:
            "\(error)".replacing(ForeignDocument.missingFormats, with: "build this with the trait `CassetteImport`")
        case let error as InvalidRequestError where error.reason == .unencryptedCredentials:
            "The credentials would be sent over http, which everybody on the way can read. Use https, or add "
                + "--allow-unencrypted-credentials."
        // It tells no place for a number that does not fit.
        case is DecodingError: "The JSON is broken, or a number in it has a fraction or is too large."
        default:
            // The report of a call shows no secret. The texts of errors of others may have one, and are not shown.
            CallReport(of: error).errorText
                ?? (String(reflecting: type(of: error)).hasPrefix("Decorum") ? "\(error)" : "\(type(of: error))")
        }
    }
}
#endif
