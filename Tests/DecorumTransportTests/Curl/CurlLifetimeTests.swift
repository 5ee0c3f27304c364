#if os(Linux)
@testable import Decorum
import DecorumCurl
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    /// The resources of a connection, and their release.
    @Suite(.timeLimit(.minutes(3))) struct CurlLifetimeTests {
        private static func exchange(
            _ request: Request, _ library: CurlLibrary, _ engine: CurlEngine
        ) throws -> CurlExchange {
            CurlExchange(
                request, try CurlRequestHead(request, library), upload: CurlUpload(request.body),
                limits: try TransferLimits(request.options, idleTimeout: .seconds(60)), since: .now,
                watch: TimeLimitWatch(clock: SystemClock()), engine: engine, library: library)
        }

        @Test func `The engine and the exchange are freed`() async throws {
            let origin = try LoopbackOrigin()
            origin.route(nil, "*", "ok")
            let library = try CurlLibrary()
            var connection: CurlConnection? = try CurlConnection(library: library)
            var engine = connection?.engines.main
            connection = nil
            weak let weakEngine = engine
            let request = try Request.get(origin.url + "/")
            weak var weakExchange: CurlExchange?
            do {
                let exchange = try Self.exchange(request, library, try #require(engine))
                weakExchange = exchange
                try await exchange.response().body.drain(upTo: 100)
            }
            engine = nil

            try await origin.waitForOpenConnections(0)
            #expect(weakExchange == nil)
            #expect(weakEngine == nil)
        }

        @Test func `Closing ends the connections of the engine that avoids HTTP/2 too`() async throws {
            let origin = try LoopbackOrigin()
            origin.route(nil, "*", "ok")
            let library = try CurlLibrary()
            let connection = try CurlConnection(library: library)
            let request = try Request.get(origin.url + "/")
            try connection.engines.transfers.begin()
            let exchange = try Self.exchange(request, library, connection.engines.avoidingHTTP2)
            try await exchange.response().body.drain(upTo: 100)
            #expect(origin.openConnectionCount == 1)

            await connection.close()
            try await origin.waitForOpenConnections(0)
        }

        @Test func `A caller gets the free loop for what is in memory, to the host with an open connection`() throws {
            let library = try CurlLibrary()
            let engine = try CurlConnection(library: library).engines.main
            func exchange(_ body: Body) throws -> CurlExchange {
                try Self.exchange(.post("http://a.example/", body: body), library, engine)
            }
            let small = try exchange("content")
            let host = small.request.host
            let rows: [(CurlLoop.Command, CurlHost?, Bool)] = [
                (.start(small), host, true), (.start(small), nil, false),
                (.start(small), CurlHost(isSecure: true, authority: host.authority), false),
                (.start(small), CurlHost(isSecure: false, authority: "b.example"), false),
                (.start(try exchange(Body(Data(count: CurlOptions.bufferSize)))), host, true),
                (.start(try exchange(Body(Data(count: CurlOptions.bufferSize + 1)))), host, false),
                (.start(try exchange(Body(chunks: AsyncStream { $0.finish() }, length: 7))), host, false),
                (.receive(small), host, false), (.send(small), host, false), (.remove(small), host, false),
                (.stop, host, false),
            ]
            for (command, host, isLent) in rows {
                #expect(CurlLoop.lends(to: command, after: host) == isLent, "\(command)")
            }
        }

        @Test(.enabled("libcurl may raise SIGPIPE") { try CurlLibrary().number >= 0x07_57_00 })
        func `A caller with the loop sends its request itself, while others wait for the loop`()
            async throws
        {
            let origin = try LoopbackOrigin()
            origin.route(nil, "*", "ok")
            let library = try CurlLibrary()
            let engine = try CurlConnection(library: library).engines.main
            func exchange() throws -> CurlExchange { try Self.exchange(.get(origin.url + "/"), library, engine) }
            try await exchange().response().body.drain(upTo: 100)
            let (ended, own, other) = (try exchange(), try exchange(), try exchange())
            ended.cancel()
            // The loop is free only some time after the response has ended.
            while !engine.loop.add(.start(ended)) { await Task.yield() }

            async let response = other.response()
            while other.state.withLock({ $0.lastProgress == nil }) { await Task.yield() }
            #expect(own.stage == .connecting && other.stage == .connecting)
            engine.loop.run(.start(own))
            #expect(own.stage != .connecting)
            try await response.body.drain(upTo: 100)
            own.cancel()
        }

        /// The status files of the threads that the transport has started, with lines such as `SigBlk: 0000000000001000`.
        private static func statesOfThreads() throws -> [String] {
            let tasks = URL(filePath: "/proc/self/task")
            let names = try FileManager.default.contentsOfDirectory(atPath: tasks.path)
            // A thread may have ended since.
            return names.compactMap { try? String(contentsOf: tasks.appending(path: "\($0)/status"), encoding: .utf8) }
                .filter { $0.hasPrefix("Name:\tdecorum.curl\n") }
        }

        @Test func `The engine's thread has a name, and blocks the signal of a broken connection`()
            async throws
        {
            let origin = try LoopbackOrigin()
            origin.route(nil, "*", "ok")
            let connection = try CurlConnection()
            try await connection.send(.get(origin.url + "/")).body.drain(upTo: 100)

            let states = try Self.statesOfThreads()
            #expect(!states.isEmpty)
            for state in states {
                let line = try #require(state.split(separator: "\n").first { $0.hasPrefix("SigBlk:") })
                let mask = try #require(UInt64(line.split(separator: "\t")[1], radix: 16))
                #expect(mask & (1 << UInt64(SIGPIPE - 1)) != 0)
            }
            withExtendedLifetime(connection) {}
        }

        @Test func `A missing library, and one that is too old, is reported`() {
            let missing = #expect(throws: CurlUnavailableError.self) { try CurlLibrary(["libdecorum-nowhere.so.4"]) }
            #expect(missing?.reason == .missing && missing?.version == nil)
            #expect(missing?.description.contains("libdecorum-nowhere.so.4") == true)
            let old = #expect(throws: CurlUnavailableError.self) {
                try CurlLibrary.check("7.76.1", 0x07_4C_01, isComplete: false)
            }
            #expect(old?.reason == .tooOld && old?.version == "7.76.1")
            #expect(old?.description.contains("7.76.1") == true)
        }

        @Test func `A refused option is named`() throws {
            let easy = try #require(CurlEasy(CurlLibrary()))
            easy.set(DECORUM_CURL_OPTION_NOSIGNAL, 1)
            #expect(easy.refusedName == nil)
            easy.set(DECORUM_CURL_OPTION_SSLVERSION, 9999)
            easy.set(DECORUM_CURL_OPTION_HTTP_VERSION, 9999)
            #expect(easy.refusedName == "SSLVERSION")

            let plain = CurlUnavailableError.unsupportedOption("8.0", "SSLVERSION", "Bad")
            #expect(plain.description == "libcurl 8.0 refuses CURLOPT_SSLVERSION: Bad.")
            let blob = CurlUnavailableError.unsupportedOption("8.0", "CAINFO_BLOB", "Bad")
            #expect(blob.description.contains("Pass certificates as files"))
        }

        @Test func `A missing library makes the system's transport fall back, and its layer says so`() {
            let layers = SystemConnection(["nowhere.so"]).layers
            #expect(layers.map(\.name) == ["URLSessionConnection"] && layers.description.contains("fallback"))
            #expect(SystemConnection().layers.map(\.name) == ["CurlConnection"])
            #expect(!SystemConnection().layers.description.contains("fallback"))
        }

        @Test func `The layer names the library and shows no secret`() throws {
            let proxy = try CurlConnection.Proxy("http://proxy.example:3128", user: "me", password: "secret-word")
            let connection = try CurlConnection(proxy: proxy)
            var text = ""
            dump(connection, to: &text)

            #expect(connection.layers.description.contains("libcurl: "))
            #expect(connection.layers.description.contains("http://proxy.example:3128"))
            #expect(!text.contains("secret-word"))
            #expect(!connection.layers.description.contains("secret-word"))
        }
    }
}
#endif
