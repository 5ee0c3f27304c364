extension Connection {
    /// Measures the time from here to the transport, so that reports tell the own time of each layer between two such points.
    ///
    /// ```swift
    /// let connection = transport.measuringTime()
    ///     .retrying().measuringTime()
    ///     .caching(in: store).measuringTime()
    /// print(try await connection.send(request).report.layers)
    /// ```
    ///
    /// The layer that is measured is the outermost one so far. Its own time is the time until the head of the response has
    /// arrived, without that of the next point further in; the waits of `retrying` are its own. This is no layer: a printed
    /// stack does not show it, and it changes nothing. Where no point is, nothing is measured.
    /// ``StandardStack/measuresLayers`` puts a point at each layer of a standard stack.
    ///
    /// - Parameter clock: The clock that measures.
    /// - Returns: A connection that measures.
    public func measuringTime(clock: any DatedClock = SystemClock()) -> some Connection {
        MeasuringConnection(base: self, clock: clock)
    }
}

struct MeasuringConnection<Base: Connection>: Connection {
    let base: Base
    let clock: any DatedClock
    private let name: String
    private let depth: Int

    init(base: Base, clock: any DatedClock) {
        self.base = base
        self.clock = clock
        let layers = base.layers
        (name, depth) = (layers.first?.name ?? "", layers.count)
    }

    var layers: [Layer] { base.layers }

    func send(_ request: consuming Request) async throws -> Response {
        let call = request.options.callContext ?? CallContext(keepingHistory: 0)
        request.options.callContext = call
        let start = clock.now
        defer { call.add(start.duration(to: clock.now), of: name, at: depth) }
        var response = try await base.send(request)
        if response.metadata.call == nil { response.metadata.call = call }
        return response
    }
}
