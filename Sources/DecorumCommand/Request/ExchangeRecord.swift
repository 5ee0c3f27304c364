#if CommandLine
import Decorum
import Foundation

/// An exchange that has ended, as `--json-output` writes it; times are in seconds.
struct ExchangeRecord: Sendable, Encodable {
    /// A field of a response, in the order and with the repetitions of the response.
    struct Field: Sendable, Encodable { let name, value: String }

    let schema = 1
    var method = ""
    var url = ""
    var status: Int?
    var fields: [Field]?
    var file: String?
    /// The content as a text, if it is wanted.
    var body: String?
    var exit = CommandStatus.done
    var error: String?
    var report = CallReport()

    /// The record as a line of JSON.
    func line() throws -> String { try JSONEncoder.text(of: self) }
}

extension CommandStatus: Encodable {}

/// What an exchange has come to, with the content of its response if that is kept.
typealias ExchangeResult = (record: ExchangeRecord, content: Data?)
#endif
