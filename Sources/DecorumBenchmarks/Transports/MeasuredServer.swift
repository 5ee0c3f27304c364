/// The server that transports are measured against: a given one, nginx where it is installed, or that of the tests.
///
/// The server of the tests answers a third as many requests a second as nginx, so that it limits the rate of a client with
/// 64 requests under way; then only processor times tell one client from another.
struct MeasuredServer {
    private let nginx: NginxProcess?
    private let origin: OriginProcess?
    let url: String

    init(_ arguments: Arguments) throws {
        let isGiven = arguments.origin != nil
        nginx = try isGiven || arguments.usesLoopbackOrigin ? nil : NginxProcess(mebibytes: arguments.mebibytes)
        origin = try isGiven || nginx != nil ? nil : OriginProcess(mebibytes: arguments.mebibytes)
        guard let url = arguments.origin ?? nginx?.url ?? origin?.url else {
            throw BenchmarkFailure("There is no server.")
        }
        self.url = url
    }

    func stop() throws {
        try nginx?.stop()
        try origin?.stop()
    }
}
