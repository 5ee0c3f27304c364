public import Decorum

extension Connection {
    /// The stack as a flowchart in the language of Mermaid, which code hosts and editors draw.
    ///
    /// ```swift
    /// print(connection.flowchart())
    /// // flowchart TD
    /// //     n1["1 retrying(retries: 3)"]
    /// //     n1 --> n2
    /// //     n2["2 StubConnection"]
    /// ```
    ///
    /// The outermost layer stands first, with an arrow to the next one further in and to the branches of a layer, which bear
    /// their names; the arrow is dotted where no request of the caller goes. A layer with a finding has the colour of its
    /// severity, and a note with each finding. Layers have the numbers of a printed connection.
    ///
    /// - Returns: The lines of the chart, without a line break at the end.
    public func flowchart() -> String {
        var chart = Flowchart()
        chart.add(layers)
        for (index, finding) in findings.enumerated() {
            chart.lines.append("    f\(index + 1)>\"\(finding.description.asLabel)\"]")
            for place in finding.places {
                chart.lines.append("    f\(index + 1) -.- n\(place.number)")
            }
        }
        let colors: [(Finding.Severity, String)] = [
            (.information, "#4285f4"), (.warning, "#f29900"), (.error, "#b3261e"),
        ]
        // The last class of a layer counts, which is the most serious one.
        for (severity, color) in colors {
            let numbers = Set(findings.filter { $0.severity == severity }.flatMap(\.places).map(\.number)).sorted()
            guard !numbers.isEmpty else { continue }
            chart.lines.append("    classDef \(severity) stroke:\(color),stroke-width:3px")
            chart.lines.append("    class \(numbers.map { "n\($0)" }.joined(separator: ",")) \(severity)")
        }
        return chart.lines.joined(separator: "\n")
    }
}

private struct Flowchart {
    var lines = ["flowchart TD"]
    private var count = 0

    /// Adds layers and their branches, numbered in the order of a printed connection.
    mutating func add(_ layers: [Layer]) {
        var outer: Int?
        for layer in layers {
            count += 1
            let number = count
            if let outer { lines.append("    n\(outer) --> n\(number)") }
            let settings = layer.settings.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
            let text = "\(number) \(layer.name)" + (settings.isEmpty ? "" : "(\(settings))")
            lines.append("    n\(number)[\"\(text.asLabel)\"]")
            for branch in layer.sending.branches where !branch.layers.isEmpty {
                let arrow = branch.carriesRequests ? "-->" : "-.->"
                lines.append("    n\(number) \(arrow)|\"\(branch.name.asLabel)\"| n\(count + 1)")
                add(branch.layers)
            }
            outer = number
        }
    }
}

extension String {
    /// The text as a label in quotes, in which everything that Mermaid, Markdown or HTML may read is a reference.
    fileprivate var asLabel: String { withoutControls.escaping("\"#&<>`*_\\{}|;") { "#\($0);" } }

    /// The text with other forms of some of its scalars.
    func escaping(_ marks: String, as form: (UInt32) -> String) -> String {
        var text = ""
        for scalar in unicodeScalars {
            // A mark that a combining character follows is still one.
            if marks.unicodeScalars.contains(scalar) {
                text += form(scalar.value)
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
