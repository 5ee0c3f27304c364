/// The arguments of the command line.
struct Arguments: Sendable {
    enum Mode: String, Sendable {
        case measure
        case serve
        case count
        case exchange
        case help
    }

    var mode = Mode.measure
    /// A text that the names of the measured rows contain.
    var filter: String?
    /// The file to which all numbers are written.
    var json: String?
    /// Whether the program fails if a bound is exceeded.
    var isCheck = false
    /// Whether only allocations and instructions are counted, and no times are measured.
    var isCountingOnly = false
    /// Whether only times are measured, and nothing is counted.
    var isTimingOnly = false
    /// Whether only the tables of which README shows some rows are written.
    var isForReadme = false
    var rounds = 9
    /// The size of the large bodies, in MiB.
    var mebibytes = 1024
    /// The server to send to; nil to start one.
    var origin: String?
    /// The number of small requests of a process that exchanges; nil for as many as fit into a time.
    var requests: Int?
    /// Whether the server is that of the tests, also where nginx is installed.
    var usesLoopbackOrigin = false
    /// The file that a process sends which exchanges.
    var file: String?
    /// The workload of a process that exchanges.
    var workload: String?

    static let usage = """
        benchmarks [--filter text] [--json file] [--rounds number] [--count-only] [--time-only]
                   [--check] [--markdown] [--origin url] [--loopback] [--size MiB]

          --filter      measures the rows whose names contain the text, such as layers/, decorators/, caching/, stacks/,
                        caller/, cassettes/, stores/, scaling/, transports/, wire/
          --count-only  counts allocations and instructions, which are repeatable, and measures no times
          --time-only   measures the times that have targets, and counts nothing
          --check       fails when a count, a ratio or a time is worse than its bound
          --markdown    writes only the tables of which README shows some rows
          --origin      sends to this server, which has to answer GET /small, GET /large and PUT /sink
          --loopback    sends to the server of the tests, also where nginx is installed
          --size        the size of the large bodies, 1024 unless given
          --help        prints this

        Counting instructions needs valgrind, its headers, and strip, and counting system calls needs strace; without them
        it is omitted. Where nginx is installed, transports are measured against it. With DECORUM_SOAK=1 in the environment,
        the rows of scaling/ go up to their largest sizes.

        """

    init(_ words: [String]) throws {
        var rest = words[...]
        while let word = rest.popFirst() {
            switch word {
            case "--help", "-h": mode = .help
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
            case "--file": file = rest.popFirst()
            case "--loopback": usesLoopbackOrigin = true
            case "--requests": requests = max(1, try Self.number(rest.popFirst()))
            case "--size": mebibytes = max(1, try Self.number(rest.popFirst()))
            default: throw BenchmarkFailure("Unknown argument: \(word)\n\(Self.usage)")
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
