import Foundation

/// One exchange of a cache with the server: a forwarded request, its times, and the permission to store its response.
struct Exchange: Sendable {
    let forwarded: ForwardedRequest
    let ticket: StoreTicket
    /// When the request that brought the response was sent.
    let requestDate: Date
    /// When the head of the response was received.
    let date: Date
}
