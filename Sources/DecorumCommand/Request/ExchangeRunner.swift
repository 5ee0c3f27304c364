#if CommandLine
import Decorum
import DecorumEndpoints
import DecorumTelemetry
import DecorumTransfers
import Foundation
import Synchronization

/// Performs the exchanges of the command one by one: sends, writes what the user wants, and decides the exit status.
struct ExchangeRunner: Sendable {
    let options: RequestCommand
    let connection: any Connection
    let events: ExchangeEvents
    let console: Console
    let destination: OutputOptions.Destination
    let parts: Set<Character>
    let expectations: [Expectation]
    let reports: RecentReports?
    let keepsContent: Bool

    private var output: OutputOptions { options.output }
    private var isAlone: Bool { options.content.urlsFrom == nil }
    private var recordsContent: Bool { output.jsonOutput && parts.contains("b") }

    /// Performs the exchange of a line or a URL, and tells its failure.
    func perform(_ line: String, _ plan: () throws -> RequestPlan) async -> ExchangeResult {
        let call = CallContext(keepingHistory: 100, timedBy: events.clock)
        // The URL has no secret even if no request can be made of it.
        let url = Redaction.standard.applied(toURL: RequestPlan.completed(line))
        var result = ExchangeResult(ExchangeRecord(url: url), nil)
        var failure: (any Error)?
        events.begin(call.id)
        do { try await exchange(try plan(), in: call, &result) } catch { failure = error }
        let report = events.end(call.id) ?? failure.map { CallReport(of: $0, in: call) } ?? CallReport(callID: call.id)
        result.record.report = report
        result.record.status = result.record.status ?? report.statusCode
        if let failure {
            (result.record.exit, result.record.error) = (CommandStatus(of: failure), CommandFailure.text(of: failure))
        } else if let limit = options.expecting.maxTime?.duration, let time = report.duration, time > limit {
            result.record.exit = .failedAssertion
            result.record.error = "It took \(time.shortText), and not \(limit.shortText) or less."
        }
        reports?.ended(report)
        events.counts.withLock { counts in
            do { try tell(result.record) } catch {
                result.record.exit = console.status(telling: error, after: result.record.exit)
            }
            counts = (counts.ended + 1, counts.failed + (result.record.exit == .done ? 0 : 1))
        }
        return result
    }

    private func exchange(_ plan: RequestPlan, in call: CallContext, _ result: inout ExchangeResult) async throws {
        var request = try plan.request()
        result.record.method = request.head.method.rawValue
        result.record.url = Redaction.standard.applied(toURL: request.url?.absoluteString ?? plan.url)
        request.options.callContext = call
        request.options.cacheUse = options.stack.cacheUse.use
        if output.skipExisting, let file = output.file, OutputFile(file, replacing: false).exists {
            return console.say("The file exists, and stays as it is.")
        }
        switch destination {
        case .download(let place, let isNamed):
            result.record.file = try await download(request, to: place, isNamed: isNamed)
        case .file, .output:
            try await showingProgress(events.progress(of: call)) { try await receive(request, in: call, &result) }
        }
    }

    /// Shows how far the exchange is, if it is the only one; what is printed in the same terminal takes the place of that.
    private func showingProgress<Value>(
        _ progress: @autoclosure @escaping @Sendable () -> Progress, during operation: () async throws -> Value
    ) async rethrows -> Value {
        guard isAlone else { return try await operation() }
        let isPrinted = parts.contains("b") && console.output.isTerminal
        let line = { @Sendable (width: Int) -> String? in
            let progress = progress()
            return isPrinted && progress.bytes > 0 ? nil : progress.line(width: width)
        }
        return try await console.showingProgress(line, during: operation)
    }

    private func receive(_ request: Request, in call: CallContext, _ result: inout ExchangeResult) async throws {
        // A file that cannot be created is told before anything is sent.
        let part: OutputFile.Part? = if case .file(let file) = destination { try file.begin() } else { nil }
        defer { part?.discard() }
        let response = try await connection.send(request)
        result.record.status = response.status.code
        result.record.fields = Redaction.standard.applied(to: response.head.headerFields).map {
            ExchangeRecord.Field(name: $0.name.rawName, value: $0.value)
        }
        try writeCertificates(of: response)
        let countsStatus = output.checkStatus && options.expecting.expectStatus == nil
        let status = countsStatus ? CommandStatus(ofResponse: response.status) : .done
        if case .file = destination, status != .done {
            throw CommandFailure(status, "The server answered \(response.status.code), so nothing was saved.")
        }
        try printHeads(request, response, in: call)
        let keeps = keepsContent || recordsContent || expectations.contains(where: \.needsContent)
        var content = Data()
        // Exchanges at the same time share the memory.
        let limit = isAlone ? InputFile.limit : max(1 << 20, InputFile.limit / options.content.parallel)
        let type = response.head.headerFields[values: .contentType].first
        var printer = parts.contains("b") && !recordsContent ? ContentPrinter(console, output, mediaType: type) : nil
        for try await chunk in response.body {
            try part?.append(chunk)
            try printer?.append(chunk)
            guard keeps else { continue }
            guard content.count + chunk.count <= limit else { throw BodyLimitError(limit: limit) }
            content += chunk
        }
        try printer?.finish()
        if keepsContent { result.content = content }
        if recordsContent { result.record.body = String(decoding: content, as: UTF8.self) }
        let unmet = expectations.lazy.compactMap { $0.failure(response.head, content) }.first
        if let unmet { throw CommandFailure(.failedAssertion, unmet) }
        try part?.finish()
        if case .file(let file) = destination { result.record.file = file.path }
        result.record.exit = status
    }

    private func download(_ request: Request, to place: URL, isNamed: Bool) async throws -> String? {
        if !output.continues { try await connection.discardDownload(of: request, to: place) }
        let name = { @Sendable (response: Response) in response.suggestedFileName }
        let transfer = connection.downloading(request, to: place, clock: events.clock, named: isNamed ? name : nil)
        do {
            let download = try await showingProgress(transfer.progress) {
                let cancel = { @Sendable in transfer.cancel() }
                return try await withTaskCancellationHandler(operation: { try await transfer.value }, onCancel: cancel)
            }
            console.say("\(download.file.lastPathComponent): \(download.length.sizeText)")
            return download.file.path
        } catch let error as DownloadError where error.reason == .fileExists {
            let isSkipped = output.skipExisting
            guard isSkipped else { throw CommandFailure(.cannotCreate, "The file exists. Name another one with -o.") }
            console.say("The file exists, and stays as it is.")
            return nil
        } catch {
            // What has arrived stays for the next run.
            await transfer.stopped()
            throw error
        }
    }

    private func writeCertificates(of response: Response) throws {
        guard let path = options.transport.certificates, let host = response.metadata.url?.host() else { return }
        let folder = URL(filePath: path.expandingHome, directoryHint: .isDirectory)
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (index, certificate) in response.metadata.serverCertificates.enumerated() {
            let name = "\(host.filter { $0.isLetter || $0.isNumber || ".-_".contains($0) })_cert_\(index).DER"
            let file = OutputFile(folder.appending(path: name).path, replacing: options.console.force)
            // The same certificate stays from the run before.
            if (try? Data(contentsOf: file.url)) != certificate { try file.write(certificate) }
        }
    }

    private func printHeads(_ request: Request, _ response: Response, in call: CallContext) throws {
        let version = response.metadata.timings?.protocolVersion ?? "HTTP"
        let sent = events.sent(of: call.id) ?? events.redaction.applied(to: request.head)
        if parts.contains("H") {
            // HTTPTypes keeps the host apart from the fields.
            var fields = sent.headerFields
            if let host = sent.authority, let name = HTTPField.Name("Host"), fields[name] == nil {
                fields = [name: host] + fields
            }
            try print("\(sent.method.rawValue) \(sent.path ?? "/") \(version)", fields)
        }
        if parts.contains("B"), !request.body.isEmpty {
            let type = request.head.headerFields[.contentType]
            let bytes = request.body.bytes.map { events.redaction.applied(to: $0, mediaType: type) }
            let text = bytes.map { String(decoding: $0, as: UTF8.self).harmless }
            try console.write(line: (text ?? "[\(request.body)]") + "\n")
        }
        if parts.contains("h") {
            let reason = response.status.reasonPhrase.isEmpty ? "" : " " + response.status.reasonPhrase
            let fields = events.redaction.applied(to: response.head.headerFields)
            try print("\(version) \(response.status.code)\(reason)", fields)
        }
    }

    /// Prints a head without secrets as it stands in HTTP/1.1.
    private func print(_ start: String, _ fields: HTTPFields) throws {
        let lines = fields.map { "\(console.output.styled($0.name.rawName, .cyan)): \($0.value.harmless)\n" }
        try console.write(line: console.output.styled(start.harmless, .bold) + "\n" + lines.joined())
    }

    private func tell(_ record: ExchangeRecord) throws {
        func waterfall(_ terminal: Terminal) -> String { Waterfall(record.report).text(width: terminal.width) }
        if parts.contains("m") { try console.write(line: record.report.explain()) }
        if parts.contains("t") { try console.write(line: waterfall(console.output)) }
        if output.jsonOutput { try console.write(line: record.line()) }
        let isStopped = record.exit == .interrupted
        let subject = isAlone ? "" : record.method + (record.method.isEmpty ? "" : " ") + record.url + ": "
        if let text = record.error {
            // Of many exchanges that were interrupted, their number tells enough.
            if isAlone || !isStopped { console.sayFailure(subject + text) }
        } else if record.exit != .done, !parts.contains("h") {
            console.say("\(subject)The server answered \(record.status.map(String.init) ?? "").", .yellow)
        }
        // The user who has interrupted the only exchange wants to know how far it came.
        if output.explain || isAlone && isStopped { console.say(record.report.explain()) }
        if output.waterfall { console.say(waterfall(console.talk)) }
        if let path = output.headersOutput, record.fields != nil {
            try OutputFile(path, replacing: options.console.force).write(Data((record.line() + "\n").utf8))
        }
    }
}

extension Console {
    /// Tells an error, and returns the exit status with it.
    func status(telling error: any Error, after status: CommandStatus) -> CommandStatus {
        if let text = CommandFailure.text(of: error) { sayFailure(text) }
        return status == .done ? CommandStatus(of: error) : status
    }
}
#endif
