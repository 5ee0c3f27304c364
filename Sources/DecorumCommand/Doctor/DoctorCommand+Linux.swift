#if CommandLine && os(Linux)
import Decorum

extension DoctorCommand {
    /// The transport that is chosen, the system's libcurl, and the proxies of the environment.
    static func transport(environment: [String: String]) -> [DoctorItem] {
        let proxies: DoctorItem
        do throws(InvalidRequestError) {
            proxies = ("proxies", "\(try CurlConnection.Environment(environment))", nil)
        } catch { proxies = ("proxies", "none", error.description) }
        do throws(CurlUnavailableError) {
            let curl = try CurlFeatures()
            let features = curl.features.map { $0.value ? $0.key : "no \($0.key)" }.joined(separator: ", ")
            let protocols = curl.protocols.filter { $0.hasPrefix("http") || $0.hasPrefix("ws") }
            return [
                ("transport", "libcurl \(curl.version)", nil),
                ("TLS", curl.tls, curl.tls.isEmpty ? "This libcurl cannot send to https." : nil),
                ("features", features, nil), ("protocols", protocols.joined(separator: ", "), nil), proxies,
            ]
        } catch { return [("transport", "URLSession", error.description), proxies] }
    }
}
#endif
