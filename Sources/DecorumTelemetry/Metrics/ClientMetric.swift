#if Metrics
/// A metric of clients that has attributes, with its unit.
enum ClientMetric: String, CaseIterable {
    case requestDuration = "http.client.request.duration"
    case requestSize = "http.client.request.body.size"
    case responseSize = "http.client.response.body.size"
    case activeRequests = "http.client.active_requests"
    case callDuration = "decorum.client.call.duration"
    case retries = "decorum.client.retries"
    case refusedRetries = "decorum.client.refused_retries"
    case refusals = "decorum.client.refusals"
    case cacheRequests = "decorum.client.cache.requests"
    case coalescedCalls = "decorum.client.coalesced_calls"
    case wait = "decorum.client.wait"

    /// The unit in UCUM.
    var unit: String {
        switch self {
        case .requestDuration, .callDuration, .wait: "s"
        case .requestSize, .responseSize: "By"
        case .activeRequests, .cacheRequests: "{request}"
        case .refusals, .coalescedCalls: "{call}"
        case .retries, .refusedRetries: "{retry}"
        }
    }
}
#endif
