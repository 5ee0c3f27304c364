import Decorum
import Foundation
import HTTPTypes

/// A request of a verified run without a recording: the recorded one that is nearest, and the answer that led to it.
struct UnrecordedRequest {
    private let request: RecordedRequest
    private let earlier: ArraySlice<Interaction>
    private let redactor: CassetteRedactor
    private let scanner: SecretScanner

    /// Creates a value for a request as it is matched, after earlier exchanges of the run.
    init(
        _ request: RecordedRequest, after earlier: ArraySlice<Interaction>, _ redactor: CassetteRedactor,
        _ scanner: SecretScanner
    ) {
        self.request = request
        self.earlier = earlier
        self.redactor = redactor
        self.scanner = scanner
    }

    /// The place of the recorded interaction whose request is nearest, if possible one that was not made; nil if there is
    /// none.
    func nearest(of recorded: [Interaction], played: Set<Int>, rules: CassetteRules) -> Int? {
        let keys = rules.matching.map { $0.key(request) }
        let nearness = recorded.map {
            RequestDifference.nearness($0.request, request, rules: rules.matching, keys: keys)
        }
        func likelihood(_ ordinal: Int) -> (RequestDifference.Nearness, Int, Int) {
            (nearness[ordinal], played.contains(ordinal) ? 0 : 1, -ordinal)
        }
        return recorded.indices.max { likelihood($0) < likelihood($1) }
    }

    /// The words for the nearest recorded request, with its line in the file.
    func line(naming nearest: RecordedRequest, at line: Int?) -> String {
        let place = line.map { "  (line \($0))" } ?? ""
        return "nearest recording  " + scanner.masked("\(nearest.method) \(nearest.url)") + place
    }

    /// The words for the earlier answer whose `Location` is the URL of the request (RFC 9110, section 10.2.2); nil if there
    /// is none.
    var redirection: String? {
        let source = earlier.last { interaction in
            guard let location = interaction.response?.fields[.location],
                let base = URL(string: interaction.request.url),
                let target = URL(string: location, relativeTo: base)?.absoluteString
            else { return false }
            return redactor.matchable(url: String(target.prefix { $0 != "#" })) == request.url
        }
        return source.map { source in
            "the `Location` in the answer to " + scanner.masked("\(source.request.method) \(source.request.url)")
                + " led there"
        }
    }
}
