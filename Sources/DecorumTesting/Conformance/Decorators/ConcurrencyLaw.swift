import Decorum
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that calls at the same time do not mix.
    ///
    /// One stack serves all tasks of an app. Two hundred calls pass at a time here, a third of them with a hitch; each
    /// caller gets the answer to what it sent.
    public static let concurrency = DecoratorLaw(
        "concurrency", "Of many calls at the same time, each gets the answer to its own request."
    ) { subject in
        let hitches = Monitor<Set<Int>>([])
        let probe = Probe { request, _ in
            let text = try await request.body.text(upTo: 100)
            let path = request.head.path ?? ""
            let number = Int(path.dropFirst()) ?? 0
            for _ in 0..<number % 5 {
                await Task.yield()
            }
            let isFirst = hitches.update { $0.insert(number).inserted }
            guard number % 3 > 0 || !isFirst else {
                return Response(status: .serviceUnavailable, fields: [.retryAfter: "0"], body: Body("\(path) \(text)"))
            }
            return Response(status: .ok, fields: [.server: "\(number)"], body: Body("\(path) \(text)"))
        }
        let connection = try subject.connection(over: probe)
        let refuses = try subject.declaredFacts().contains(.refuses)
        try await withThrowingTaskGroup { group in
            for number in 0..<200 {
                group.addTask {
                    let request = try Request(.put, origin + "/\(number)", body: Body("content \(number)"))
                    guard
                        let response = try await answer(
                            to: request, from: connection, mayThrow: refuses || number % 3 == 0)
                    else { return }
                    try requireEqual(
                        try await response.body.text(upTo: 100), "/\(number) content \(number)",
                        "The answer to one of many calls")
                    let server = response.head.headerFields[.server]
                    try require(
                        server == nil || server == "\(number)", "A call got the fields of another one's answer.")
                }
            }
            try await group.waitForAll()
        }
    }

    /// Lets a layer that judges statuses throw for a hitch, and one that refuses for any call.
    private static func answer(
        to request: Request, from connection: any Connection, mayThrow: Bool
    ) async throws -> Response? {
        do {
            return try await connection.send(request)
        } catch  where mayThrow {
            return nil
        }
    }
}
