/// The tables of ratios, of which README shows some rows.
struct ReadmeTables {
    let report: Report

    var text: String {
        [stacks, wire, transports, missed].filter { !$0.rows.isEmpty }.map(\.text).joined(separator: "\n")
    }

    /// The costs of layers in instructions and allocations, which are repeatable.
    private var stacks: Table {
        let shown: [(title: String, row: String, isPerLayer: Bool)] = [
            ("a layer that does nothing, its type known", "layers/empty, static, 20", true),
            ("one behind `any Connection`", "layers/empty, any, 20", true),
            ("one appended to an `any Connection`", "layers/empty, appended to any, 20", true),
            ("the same with `send` inlined", "layers/empty, inlined, appended to any, 20", true),
            ("a layer that sets one field", "layers/field, static, 5", true),
            ("the work of six layers, by hand", "stacks/six by hand", false),
            ("six working layers", "stacks/six working layers", false),
            ("a cache that has the answer", "decorators/caching, hit", true),
            ("the whole stack", "stacks/canonical", false),
            ("the whole stack, answered by its cache", "stacks/canonical, hit", false),
            ("the whole stack, with a body that streams", "stacks/canonical, streamed", false),
        ]
        var table = Table(header: ["over an answer from memory", "instructions", "allocations", "÷ by hand"])
        let hand = reading("stacks/six by hand")?.instructions
        table.rows = shown.compactMap { title, row, isPerLayer in
            guard let reading = reading(row) else { return nil }
            let instructions = isPerLayer ? reading.instructionsPerLayer : reading.instructions
            let allocations = isPerLayer ? reading.allocationsPerLayer : reading.allocations
            let isCompared = row == "stacks/six working layers"
            let ratio = isCompared ? instructions.flatMap { value in hand.map { value / $0 } } : nil
            return [title, instructions.map { max(0, $0) }.text, allocations.text, ratio.text]
        }
        return table
    }

    /// Each transport as a share of its baseline: the rate of requests, and the processor time of one.
    private var transports: Table {
        var table = Table(header: [
            "transport", "over", "1 at a time", "CPU", "64 at a time", "CPU", "1 GiB down", "1 GiB up", "peak MiB",
        ])
        table.rows = Subject.all.compactMap { subject in
            let readings = [Exchanging.Workload.sequential, .concurrent, .down, .up].map { workload in
                report.transports.first { $0.name == "transports/\(workload.rawValue)/\(subject.name)" }
            }
            guard readings.contains(where: { $0 != nil }) else { return nil }
            let ratios = readings.enumerated().flatMap { index, reading -> [String] in
                let ratios = [reading?.rateRatio, index < 2 ? reading?.processorRatio : nil].map(\.text)
                return index < 2 ? ratios : [ratios[0]]
            }
            let peak = readings.compactMap { $0?.peakMemory }.max() ?? 0
            return [subject.name, subject.baseline ?? ""] + ratios + ["\(peak >> 20)"]
        }
        return table
    }

    /// The counts of requests on the wire.
    private var wire: Table { Table(report.wire) }

    /// The goals that are missed.
    private var missed: Table {
        var table = Table(header: ["missed goal", "quantity", "measured", "goal"])
        table.rows = report.verdicts.filter { $0.isMet == false }.map { verdict in
            [verdict.row, verdict.quantity.text, verdict.value.text, verdict.goal.text]
        }
        return table
    }

    private func reading(_ name: String) -> Reading? {
        report.readings.first { $0.name == name }
    }
}
