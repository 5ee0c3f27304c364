import Foundation

/// Something about an exchange that the format of a file has no place for.
public struct ExportLoss: Sendable, Hashable {
    /// The kind of a loss, as an open set.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind.
        public let description: String

        /// Creates a kind.
        ///
        /// - Parameter description: The name of the kind.
        public init(_ description: String) {
            self.description = description
        }

        /// The exchange failed; other programs show a response with the status 0, or a whole response.
        public static let failure = Kind("failure")
        /// The URL has a fragment, or characters that are not valid in a URL.
        public static let url = Kind("URL")
        /// The value of a field is not text.
        public static let field = Kind("field")
        /// A body is not text, and the format has no mark for that; or it was not exact before.
        public static let body = Kind("body")
        /// Content is written without its coding, or in a coding that other programs do not undo.
        public static let contentCoding = Kind("content coding")
        /// The exchange has trailers.
        public static let trailers = Kind("trailers")
        /// The exchange has interim responses.
        public static let informational = Kind("interim responses")
        /// The times between the chunks of the content are only written as their sum.
        public static let timing = Kind("timing")
        /// The time of the exchange is not known, and the format demands one.
        public static let date = Kind("date")
    }

    /// The kind of the loss.
    public let kind: Kind
    /// The number of the exchange in the archive, counted from 1.
    public let interaction: Int
    /// The loss, as a sentence without a secret.
    public let message: String
    /// Whether ``ImportedCassette`` restores it from the archive, so that only other programs lose it.
    public let isRestored: Bool
}

extension ExportLoss: CustomStringConvertible {
    /// The number of the exchange and the message.
    public var description: String { "interaction \(interaction): \(message)" }
}

extension ExportLoss {
    /// The lines that name each loss once, with the interactions that have it.
    static func report(_ losses: [ExportLoss], of file: String) -> String {
        var messages: [String] = []
        var interactions: [String: [Int]] = [:]
        for loss in losses {
            if interactions[loss.message] == nil { messages.append(loss.message) }
            interactions[loss.message, default: []].append(loss.interaction)
        }
        let lines = messages.prefix(20).map { message in
            let numbers = interactions[message] ?? []
            let shown = numbers.prefix(5).map { String($0) }.joined(separator: ", ")
            let more = numbers.count > 5 ? " and \(numbers.count - 5) more" : ""
            return "  interaction \(shown)\(more): \(message)\n"
        }
        let rest = messages.count > 20 ? "  and others\n" : ""
        return "\(file): the format has no place for some of the recorded data:\n\(lines.joined())\(rest)"
    }

    /// Writes the lines to standard error.
    static func write(_ losses: [ExportLoss], _ file: URL) {
        FileHandle.standardError.write(Data(report(losses, of: file.relativePath).utf8))
    }
}
