#if os(Linux)
import Decorum

extension Subject {
    /// The clients of this system alone.
    static let platform =
        [Subject(name: "libcurl", baseline: "data(for:)") { _ in BareCurlClient() }]
        + connections("CurlConnection", over: "libcurl") { try CurlConnection() }
}
#else
extension Subject {
    /// The clients of this system alone.
    static let platform: [Subject] = []
}
#endif
