#if CommandLine && !os(Linux)
import Decorum

extension DoctorCommand {
    /// The transport of the system, which finds proxies and certificates by itself.
    static func transport(environment: [String: String]) -> [DoctorItem] {
        [("transport", "URLSession", nil), ("proxies", "set by the system", nil)]
    }
}
#endif
