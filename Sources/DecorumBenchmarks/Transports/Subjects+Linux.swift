#if os(Linux)
import Decorum

extension Subject {
    /// The clients of this system alone.
    static let platform = connections("CurlConnection", over: "URLSessionConnection") { try CurlConnection() }
}
#else
extension Subject {
    /// The clients of this system alone.
    static let platform: [Subject] = []
}
#endif
