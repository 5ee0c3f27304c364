import Decorum
import Foundation
import HTTPTypes

/// Random requests of several tasks through some caches on one store, with a judgement on every read.
struct HistoryTraffic: Sendable {
    let world: HistoryWorld
    let connections: [any Connection]
    let store: any ResponseStore
    let seed: UInt64

    /// Runs tasks at the same time until each of them has read a number of responses.
    func run(tasks: Int, reads: Int) async -> HistoryTally {
        await withTaskGroup(of: HistoryTally.self) { group in
            for number in 0..<tasks { group.addTask { await work(number, reads) } }
            return await group.reduce(into: HistoryTally()) { $0.add($1) }
        }
    }

    private func work(_ number: Int, _ reads: Int) async -> HistoryTally {
        let dice = SeededGenerator(seed: seed &* 1000 &+ UInt64(number))
        var tally = HistoryTally()
        var steps = 0
        while tally.reads < reads, steps < reads * 4 {
            steps += 1
            let name = "seed \(seed), task \(number), step \(steps)"
            switch dice.number(below: 256) {
            case 0: world.advance(by: 1 + dice.number(below: 8))
            case 1: await signOut(dice.number(below: HistoryWorld.principals.count))
            case 2 where dice.number(below: 8) == 0: await removeEverything()
            case 3..<6: await evict(dice)
            case 6..<14: await change(dice)
            case 14..<24: await cancel(dice, &tally, name)
            case 24..<32: await drop(dice)
            default: await read(choose(dice), dice, &tally, name)
            }
        }
        return tally
    }

    // MARK: Reading

    private func choose(_ dice: SeededGenerator) -> HistoryModel.Choice {
        var wanted = HistoryModel.Choice(principal: dice.number(below: HistoryWorld.principals.count))
        // Some resources are read more often than others.
        wanted.uri = min(dice.number(below: HistoryWorld.uris), dice.number(below: HistoryWorld.uris))
        if wanted.kind.takesCookies { wanted.cookie = dice.number(below: 4) }
        if wanted.kind == .byType { wanted.type = dice.number(below: 3) }
        return wanted
    }

    private func request(for wanted: HistoryModel.Choice, _ dice: SeededGenerator) throws -> Request {
        var fields = HTTPFields()
        if wanted.cookie > 0 { fields[.cookie] = "sid=\(wanted.cookie)" }
        if wanted.kind == .byType { fields[.accept] = "\(wanted.type)" }
        if wanted.kind == .ranged, dice.number(below: 3) == 0 {
            fields[.range] = "bytes=0-\(dice.number(below: 40))"
        }
        var request = try Request.get("https://example.com/r\(wanted.uri)", fields: fields)
        request.options.principal = HistoryWorld.principals[wanted.principal]
        return request
    }

    private func connection(_ dice: SeededGenerator) -> any Connection {
        connections[dice.number(below: connections.count)]
    }

    private func read(
        _ wanted: HistoryModel.Choice, _ dice: SeededGenerator, _ tally: inout HistoryTally, _ name: String
    ) async {
        let read = world.begin(wanted)
        do {
            let response = try await connection(dice).send(request(for: wanted, dice))
            let content = try await response.body.data(upTo: 1 << 20)
            tally.judge(response, content, for: read, name)
        } catch {
            tally.fail(error, name)
        }
    }

    /// Cancels a reader at any moment; a response that has come all the same is judged.
    private func cancel(_ dice: SeededGenerator, _ tally: inout HistoryTally, _ name: String) async {
        let wanted = choose(dice)
        let reading = Task {
            var tally = HistoryTally()
            await read(wanted, dice, &tally, name)
            return tally
        }
        for _ in 0..<dice.number(below: 12) { await Task.yield() }
        reading.cancel()
        tally.add(await reading.value)
    }

    /// Drops a response before its end.
    private func drop(_ dice: SeededGenerator) async {
        guard let response = try? await connection(dice).send(request(for: choose(dice), dice)) else { return }
        guard dice.number(below: 2) == 0 else { return }
        var reader = response.body.makeAsyncIterator()
        _ = try? await reader.next()
    }

    // MARK: Changing

    private func change(_ dice: SeededGenerator) async {
        let wanted = choose(dice)
        let method: HTTPRequest.Method = dice.number(below: 4) == 0 ? .post : .put
        guard var request = try? Request(method, "https://example.com/r\(wanted.uri)", body: "new") else { return }
        request.options.principal = HistoryWorld.principals[wanted.principal]
        var changes: [HistoryWorld.Change] = []
        do {
            let response = try await connection(dice).send(request)
            changes = response.head.headerFields[.changes].map(HistoryWorld.Change.list) ?? []
        } catch {
            let lost = (error as? TransportError)?.underlying as? HistoryOrigin.LostAnswer
            changes = lost?.changes ?? []
        }
        for change in changes { world.end(change) }
    }

    private func signOut(_ principal: Int) async {
        let sequence = world.sequence
        await store.removeResponses(of: HistoryWorld.principals[principal])
        world.endSignOut(of: principal, begunAfter: sequence)
    }

    private func removeEverything() async {
        let sequence = world.sequence
        await store.removeAllResponses()
        for principal in HistoryWorld.principals.indices {
            world.endSignOut(of: principal, begunAfter: sequence)
        }
    }

    private func evict(_ dice: SeededGenerator) async {
        guard let request = try? request(for: choose(dice), dice), let uri = ResponseKey.URI(request.head) else {
            return
        }
        await store.removeResponses(at: uri)
    }
}

extension SeededGenerator {
    fileprivate func number(below limit: Int) -> Int { Int(next() % UInt64(limit)) }
}
