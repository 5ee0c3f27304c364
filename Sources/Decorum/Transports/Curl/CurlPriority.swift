#if os(Linux)
extension TaskPriority {
    /// The weight of a stream over HTTP/2, from 1 to 256, where a stream without a priority has 16 (RFC 7540, section 5.3).
    var streamWeight: Int {
        switch self {
        case .high...: 256
        case .medium...: 16
        case .low...: 4
        default: 1
        }
    }
}
#endif
