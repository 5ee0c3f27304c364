import Decorum
import HTTPTypes

/// The costs of a layer by itself, in each way of composing, compared with a hand-written function.
enum LayerRows {
    static func rows() throws -> [Row] {
        let request = try Request.sample()
        let memory = MemoryConnection()
        let hand = HandWritten(memory)
        return [
            Row(name: "layers/function") { count in
                for _ in 0..<count { _ = try await hand.answer(request) }
            },
            Row("layers/terminal", over: "layers/function", sending: request, through: memory),
            Row(name: "requests/get", bounds: [.instructions(4930)]) { count in
                for _ in 0..<count { _ = try Request.get("https://api.example.com/v1/feed?page=2") }
            },
            Row(name: "requests/get, relative", bounds: [.instructions(3250)]) { count in
                for _ in 0..<count { _ = try Request.get("/v1/feed?page=2") }
            },
        ] + empty(request, memory) + fields(request, memory, hand)
    }

    private static func empty(_ request: Request, _ memory: MemoryConnection) -> [Row] {
        let none: [Row] = [
            Row("layers/any", over: "layers/terminal", sending: request, through: passing(0, over: memory)),
            Row(
                "layers/AnyConnection", over: "layers/terminal", bounds: .allocationsPerLayer(0),
                sending: request, through: AnyConnection(memory)),
        ]
        return none
            + statically(1, request, memory.passing())
            + statically(5, request, memory.passingFive())
            + statically(10, request, memory.passingFive().passingFive())
            + statically(20, request, memory.passingFive().passingFive().passingFive().passingFive())
            + [1, 5, 10, 20].flatMap { depth in
                [
                    Row(
                        "layers/empty, any, \(depth)", over: "layers/any", layers: depth,
                        bounds: .instructionsPerLayer(390), .allocationsPerLayer(0),
                        sending: request, through: passing(depth, over: memory)),
                    Row(
                        "layers/empty, appended to any, \(depth)", over: "layers/any", layers: depth,
                        bounds: .instructionsPerLayer(590), .allocationsPerLayer(0),
                        sending: request, through: appending(depth, to: memory)),
                    Row(
                        "layers/empty, inlined, appended to any, \(depth)", over: "layers/any", layers: depth,
                        bounds: .instructionsPerLayer(365), .allocationsPerLayer(0),
                        sending: request, through: appendingInlined(depth, to: memory)),
                    Row(
                        "layers/empty, AnyConnection each, \(depth)", over: "layers/AnyConnection", layers: depth,
                        bounds: .instructionsPerLayer(970), .allocationsPerLayer(0),
                        sending: request, through: wrapping(depth, over: AnyConnection(memory))),
                ]
            }
    }

    private static func statically(_ depth: Int, _ request: Request, _ stack: some Connection) -> [Row] {
        [
            Row(
                "layers/empty, static, \(depth)", over: "layers/terminal", layers: depth,
                bounds: .instructionsPerLayer(60), .allocationsPerLayer(0), sending: request, through: stack),
            Row(
                "layers/empty, AnyConnection once, \(depth)", over: "layers/AnyConnection", layers: depth,
                bounds: .instructionsPerLayer(590), .allocationsPerLayer(0),
                sending: request, through: AnyConnection(stack)),
        ]
    }

    private static func fields(_ request: Request, _ memory: MemoryConnection, _ hand: HandWritten) -> [Row] {
        let one = memory.setting(.cacheControl)
        let five = one.setting(.acceptLanguage).setting(.acceptEncoding).setting(.userAgent).setting(.referer)
        return [
            Row(name: "layers/field, function", baseline: "layers/function") { count in
                for _ in 0..<count { _ = try await hand.setField(request) }
            },
            Row("layers/field, static, 1", over: "layers/field, function", sending: request, through: one),
            // The first layer copies the fields that the caller still holds; the difference is the cost of a further
            // layer.
            Row(
                "layers/field, static, 5", over: "layers/field, static, 1", layers: 4,
                bounds: .instructionsPerLayer(1500), sending: request, through: five),
            Row(
                "layers/field, AnyConnection, 5", over: "layers/field, static, 1", layers: 4,
                bounds: .instructionsPerLayer(2080), sending: request, through: AnyConnection(five)),
        ]
    }
}

extension Request {
    /// A request like that of an app, with two fields, a principal, and perhaps further fields.
    static func sample(
        _ url: String = "https://api.example.com/v1/feed?page=2", furtherFields count: Int = 0
    ) throws -> Request {
        var request = try Request.get(url, fields: [.accept: "application/json", .contentLanguage: "en"])
        for number in 0..<count {
            guard let name = HTTPField.Name("X-Further-\(number)") else { continue }
            request.head.headerFields[name] = "the value of a field"
        }
        request.options.principal = Principal("reader")
        return request
    }
}
