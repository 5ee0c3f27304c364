import Decorum
import DecorumArchive
import Foundation

/// The events of a stream whose data is no JSON, where that of each recorded event is.
enum BrokenEvents {
    /// The line that names the first of them; none where a recorded event has other data too.
    static func drift(from old: Data, to new: Data) -> [String] {
        let (old, new) = (EventLines(Array(old)), EventLines(Array(new)))
        guard !old.events.isEmpty, old.events.allSatisfy({ isJSON(old.joined($0)) }) else { return [] }
        let broken = new.events.indices.filter { !isJSON(new.joined(new.events[$0])) }
        guard let first = broken.first else { return [] }
        let type = new.typeName(at: first)
        let more = broken.count > 1 ? ", nor is that of \(broken.count - 1) more" : ""
        return [
            "events  the data of event \(first + 1), of the type “\(type.withoutControls)”, is no JSON\(more); that of all recorded "
                + "events is"
        ]
    }

    private static func isJSON(_ bytes: [UInt8]) -> Bool { (try? JSONValue(parsing: bytes)) != nil }
}
