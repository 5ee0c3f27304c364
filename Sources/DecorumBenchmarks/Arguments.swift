/// What the command line asks for.
struct Arguments: Sendable {
    enum Mode: String, Sendable {
        case measure
        case serve
        case count
        case exchange
    }

    var mode = Mode.measure
    /// What the names of the rows contain that are measured.
    var filter: String?
    /// The file that gets all numbers.
    var json: String?
    /// Whether a bound that is not kept fails the program.
    var isCheck = false
    /// Whether only what can be counted is measured, and no time.
    var isCountingOnly = false
    /// Whether only times are taken, and nothing is counted.
    var isTimingOnly = false
    /// Whether the tables of README are all that is written.
    var isForReadme = false
    var rounds = 9
    /// The size of the large bodies, in MiB.
    var mebibytes = 1024
    /// The server to send to; nil for one of the program's own.
    var origin: String?
    /// What a process that exchanges is to do.
    var workload: String?

    static let usage = """
        benchmarks [--filter text] [--json file] [--rounds number] [--count-only] [--time-only]
                   [--check] [--markdown] [--origin url] [--size MiB]

          --filter      measures the rows whose names contain the text, such as layers/, decorators/, stacks/,
                        caller/, cassettes/, stores/, transports/
          --count-only  counts allocations and instructions, which repeat, and takes no time
          --time-only   takes the times that have targets, and counts nothing
          --check       fails when a count, a ratio or a time is worse than its bound
          --markdown    writes the tables of README and nothing else
          --origin      sends to a server that answers GET /small, GET /large and PUT /sink, not to one of its own
          --size        the size of the large bodies, 1024 unless given

        Instructions need valgrind, its headers, and strip; what cannot be counted is left out.

        """

    init(_ words: [String]) throws {
        var rest = words[...]
        while let word = rest.popFirst() {
            switch word {
            case "--serve": mode = .serve
            case "--count": mode = .count
            case "--exchange":
                mode = .exchange
                workload = rest.popFirst()
            case "--check": isCheck = true
            case "--count-only": isCountingOnly = true
            case "--time-only": isTimingOnly = true
            case "--markdown": isForReadme = true
            case "--filter": filter = rest.popFirst()
            case "--json": json = rest.popFirst()
            case "--origin": origin = rest.popFirst()
            case "--rounds": rounds = max(1, try Self.number(rest.popFirst()))
            case "--size": mebibytes = max(1, try Self.number(rest.popFirst()))
            default: throw BenchmarkFailure("What is \(word)?\n\(Self.usage)")
            }
        }
    }

    private static func number(_ word: String?) throws -> Int {
        guard let word, let number = Int(word) else { throw BenchmarkFailure("A number is missing.\n\(usage)") }
        return number
    }

    func includes(_ name: String) -> Bool {
        filter.map(name.contains) ?? true
    }
}
