// swift-tools-version: 6.2

import PackageDescription

let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let asyncHTTPClient: [Target.Dependency] = [
    ("AsyncHTTPClient", "async-http-client"), ("NIOConcurrencyHelpers", "swift-nio"), ("NIOCore", "swift-nio"),
    ("NIOHTTP1", "swift-nio"), ("NIOHTTP2", "swift-nio-http2"), ("NIOPosix", "swift-nio"), ("NIOSSL", "swift-nio-ssl"),
].map { .product(name: $0, package: $1, condition: .when(traits: ["AsyncHTTPClient"])) }

// A server for resumable uploads.
let uploadServer: [Target.Dependency] = [
    ("NIOCore", "swift-nio"), ("NIOHTTP1", "swift-nio"), ("NIOPosix", "swift-nio"),
    ("NIOHTTPTypes", "swift-nio-extras"), ("NIOHTTPTypesHTTP1", "swift-nio-extras"),
    ("NIOResumableUpload", "swift-nio-extras"),
].map { .product(name: $0, package: $1, condition: .when(traits: ["AsyncHTTPClient"])) }

let cryptography: [Target.Dependency] = ["Crypto", "CryptoExtras"].map {
    .product(name: $0, package: "swift-crypto", condition: .when(traits: ["Signing"]))
}

let telemetry: [Target.Dependency] = [
    ("Logging", "swift-log", "Logging"), ("Metrics", "swift-metrics", "Metrics"),
    ("Tracing", "swift-distributed-tracing", "Tracing"),
].map { .product(name: $0, package: $1, condition: .when(traits: [$2])) }

let argumentParser: [Target.Dependency] = [
    .product(name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["CommandLine"]))
]

// Apple's systems demand the reasons for which a module reads the times of files; elsewhere there would be an empty bundle.
let privacyManifest = "PrivacyInfo.xcprivacy"
#if canImport(Darwin)
let excluded: [String] = []
let resources: [Resource] = [.copy(privacyManifest)]
#else
let excluded = [privacyManifest]
let resources: [Resource] = []
#endif

let package = Package(
    name: "decorum",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Decorum", targets: ["Decorum"]),
        .library(name: "DecorumArchive", targets: ["DecorumArchive"]),
        .library(name: "DecorumAuthentication", targets: ["DecorumAuthentication"]),
        .library(name: "DecorumSigning", targets: ["DecorumSigning"]),
        .library(name: "DecorumTraffic", targets: ["DecorumTraffic"]),
        .library(name: "DecorumTransfers", targets: ["DecorumTransfers"]),
        .library(name: "DecorumSharedStorage", targets: ["DecorumSharedStorage"]),
        .library(name: "DecorumTelemetry", targets: ["DecorumTelemetry"]),
        .library(name: "DecorumCookies", targets: ["DecorumCookies"]),
        .library(name: "DecorumEndpoints", targets: ["DecorumEndpoints"]),
        .library(name: "DecorumAsyncHTTPClient", targets: ["DecorumAsyncHTTPClient"]),
        .library(name: "DecorumTesting", targets: ["DecorumTesting"]),
        .library(name: "DecorumConformance", targets: ["DecorumConformance"]),
        .library(name: "DecorumCassetteImport", targets: ["DecorumCassetteImport"]),
        .library(name: "DecorumTestingTraits", targets: ["DecorumTestingTraits"]),
        .executable(name: "decorum", targets: ["DecorumCommand"]),
        .plugin(name: "DecorumCommandPlugin", targets: ["DecorumCommandPlugin"]),
        .executable(name: "tour", targets: ["DecorumTour"]),
        .executable(name: "benchmarks", targets: ["DecorumBenchmarks"]),
    ],
    traits: [
        .trait(
            name: "AsyncHTTPClient", description: "A transport over AsyncHTTPClient, for apps that run on SwiftNIO."),
        .trait(
            name: "CassetteImport", description: "Readers of the recordings of other tools, of which many are YAML."),
        .trait(name: "CommandLine", description: "The command decorum, which needs swift-argument-parser."),
        .trait(name: "Logging", description: "Logs to the loggers of swift-log."),
        .trait(name: "Metrics", description: "Metrics of calls to the back ends of swift-metrics."),
        .trait(name: "Signing", description: "Signers of requests, which need swift-crypto."),
        .trait(name: "Tracing", description: "Traces of calls to the back ends of swift-distributed-tracing."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.40.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.10.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.7.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        .target(name: "DecorumSecrets", dependencies: [httpTypes]),
        .target(
            name: "Decorum",
            dependencies: [
                "DecorumCompression", "DecorumSecrets",
                .target(name: "DecorumCurl", condition: .when(platforms: [.linux])),
                .target(name: "DecorumSystem", condition: .when(platforms: [.linux])),
                httpTypes,
            ],
            exclude: excluded,
            resources: resources
        ),
        .target(
            name: "DecorumAuthentication", dependencies: ["Decorum", httpTypes], exclude: excluded,
            resources: resources),
        .target(
            name: "DecorumSigning",
            dependencies: [
                "Decorum", "DecorumAuthentication", httpTypes,
                .product(
                    name: "Subprocess", package: "swift-subprocess",
                    condition: .when(platforms: [.macOS, .linux], traits: ["Signing"])),
            ] + cryptography),
        .target(name: "DecorumTraffic", dependencies: ["Decorum", httpTypes]),
        .target(
            name: "DecorumTransfers", dependencies: ["Decorum", httpTypes], exclude: excluded, resources: resources),
        .target(
            name: "DecorumSharedStorage",
            dependencies: ["Decorum", "DecorumAuthentication", "DecorumSecrets", "DecorumTraffic", httpTypes]),
        .target(name: "DecorumCookies", dependencies: ["Decorum", httpTypes]),
        .target(
            name: "DecorumEndpoints", dependencies: ["Decorum", httpTypes], exclude: excluded, resources: resources),
        .target(name: "DecorumAsyncHTTPClient", dependencies: ["Decorum"] + asyncHTTPClient),
        .target(
            name: "DecorumCompression",
            linkerSettings: [
                .linkedLibrary("dl", .when(platforms: [.linux])),
                .linkedLibrary("z", .when(platforms: [.macOS, .iOS, .macCatalyst, .tvOS, .watchOS, .visionOS])),
            ]
        ),
        .target(name: "DecorumCurl", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .target(name: "DecorumSystem"),
        .target(
            name: "DecorumArchive",
            dependencies: ["Decorum", httpTypes]
        ),
        .target(name: "DecorumTelemetry", dependencies: ["Decorum", "DecorumArchive", httpTypes] + telemetry),
        .target(
            name: "DecorumTesting",
            dependencies: ["Decorum", "DecorumArchive", httpTypes]
        ),
        .target(
            name: "DecorumConformance",
            dependencies: ["Decorum", "DecorumSharedStorage", "DecorumTesting", httpTypes]),
        .target(
            name: "DecorumCassetteImport",
            dependencies: [
                "Decorum", "DecorumTesting", httpTypes,
                .product(name: "Yams", package: "Yams", condition: .when(traits: ["CassetteImport"])),
            ]
        ),
        .target(name: "DecorumTestingTraits", dependencies: ["Decorum", "DecorumTesting"]),
        .target(name: "DecorumDemo", dependencies: ["Decorum", "DecorumTesting", httpTypes]),
        .executableTarget(
            name: "DecorumTour",
            dependencies: [
                "Decorum", "DecorumArchive", "DecorumAuthentication", "DecorumCookies", "DecorumDemo",
                "DecorumEndpoints", "DecorumSharedStorage", "DecorumSigning", "DecorumTelemetry", "DecorumTesting",
                "DecorumTraffic", "DecorumTransfers", httpTypes,
            ] + cryptography
        ),
        .executableTarget(
            name: "DecorumCommand",
            dependencies: [
                "Decorum", "DecorumArchive", "DecorumCassetteImport", "DecorumCookies", "DecorumEndpoints",
                "DecorumSecrets", "DecorumSigning", "DecorumTelemetry", "DecorumTesting", "DecorumTraffic",
                "DecorumTransfers",
            ] + cryptography + argumentParser
        ),
        .plugin(
            name: "DecorumCommandPlugin",
            capability: .command(
                intent: .custom(
                    verb: "decorum", description: "Shows and checks stacks, recordings and caches; see --help.")),
            path: "Sources/DecorumCommandPlugin"),
        .target(name: "DecorumProbe"),
        .executableTarget(
            name: "DecorumBenchmarks",
            dependencies: [
                "Decorum", "DecorumArchive", "DecorumAsyncHTTPClient", "DecorumAuthentication", "DecorumCompression",
                "DecorumCookies", "DecorumEndpoints", "DecorumProbe", "DecorumSigning", "DecorumTesting",
                "DecorumTelemetry", "DecorumTraffic", "DecorumTransfers", httpTypes,
            ] + asyncHTTPClient + cryptography + telemetry
        ),
        .target(name: "DecorumTestWidth", path: "Tests/DecorumTestWidth"),
        .target(
            name: "DecorumTestSupport",
            dependencies: [
                "Decorum", "DecorumConformance", "DecorumSharedStorage", "DecorumTesting", "DecorumTestWidth",
                httpTypes,
            ],
            path: "Tests/DecorumTestSupport"),
        .testTarget(
            name: "DecorumTests",
            dependencies: [
                "Decorum", "DecorumArchive", "DecorumConformance", "DecorumSecrets", "DecorumTestSupport",
                "DecorumTesting",
                httpTypes,
            ]
        ),
        .testTarget(
            name: "DecorumCachingTests",
            dependencies: [
                "Decorum", "DecorumConformance", "DecorumSharedStorage", "DecorumTestSupport", "DecorumTesting",
                httpTypes,
            ]
        ),
        .testTarget(
            name: "DecorumResilienceTests",
            dependencies: ["Decorum", "DecorumTestSupport", "DecorumTesting", httpTypes]
        ),
        .testTarget(
            name: "DecorumCompositionTests",
            dependencies: ["Decorum", "DecorumCookies", "DecorumTestSupport", "DecorumTesting", httpTypes]
        ),
        .testTarget(
            name: "DecorumTransportTests",
            dependencies: ["Decorum", "DecorumConformance", "DecorumTestSupport", "DecorumTesting", httpTypes]
        ),
        // Facts about URLSession on Linux: its tests fail where Foundation has changed, not where Decorum has.
        .testTarget(
            name: "FoundationFlawTests",
            dependencies: ["Decorum", "DecorumTestSupport", "DecorumTesting", httpTypes]
        ),
        .testTarget(
            name: "DecorumAsyncHTTPClientTests",
            dependencies: [
                "Decorum", "DecorumAsyncHTTPClient", "DecorumConformance", "DecorumTestSupport", "DecorumTesting",
                httpTypes,
                .product(
                    name: "NIOEmbedded", package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient"])),
            ] + asyncHTTPClient
        ),
        .testTarget(
            name: "DecorumAuthenticationTests",
            dependencies: [
                "DecorumAuthentication", "DecorumConformance", "DecorumCookies", "DecorumTestSupport", "DecorumTesting",
                "DecorumTestingTraits", httpTypes,
            ],
            exclude: ["Cassettes"]
        ),
        .testTarget(
            name: "DecorumSigningTests",
            dependencies: [
                "DecorumAuthentication", "DecorumConformance", "DecorumSigning", "DecorumTestSupport", "DecorumTesting",
                httpTypes,
            ] + cryptography
        ),
        .testTarget(
            name: "DecorumTransfersTests",
            dependencies: [
                "Decorum", "DecorumConformance", "DecorumSigning", "DecorumTestSupport", "DecorumTesting",
                "DecorumTransfers", httpTypes,
            ] + uploadServer
        ),
        .testTarget(
            name: "DecorumSharedStorageTests",
            dependencies: [
                "Decorum", "DecorumAuthentication", "DecorumConformance", "DecorumSharedStorage", "DecorumSigning",
                "DecorumTestSupport", "DecorumTesting", "DecorumTraffic", httpTypes,
            ] + cryptography
        ),
        .testTarget(
            name: "DecorumTrafficTests",
            dependencies: [
                "Decorum", "DecorumConformance", "DecorumTestSupport", "DecorumTesting", "DecorumTraffic", httpTypes,
            ]
        ),
        .testTarget(
            name: "DecorumTelemetryTests",
            dependencies: [
                "Decorum", "DecorumArchive", "DecorumAuthentication", "DecorumConformance", "DecorumTelemetry",
                "DecorumTestSupport", "DecorumTesting", "DecorumTraffic", httpTypes,
            ] + telemetry
                + [
                    ("InMemoryLogging", "swift-log", "Logging"), ("MetricsTestKit", "swift-metrics", "Metrics"),
                    ("InMemoryTracing", "swift-distributed-tracing", "Tracing"),
                ].map { .product(name: $0, package: $1, condition: .when(traits: [$2])) }
        ),
        .testTarget(
            name: "DecorumCommandTests",
            dependencies: [
                "Decorum", "DecorumArchive", "DecorumCommand", "DecorumTestSupport", "DecorumTesting", "DecorumTraffic",
                "DecorumTransfers",
            ] + argumentParser
        ),
        .testTarget(
            name: "DecorumCookiesTests",
            dependencies: ["DecorumConformance", "DecorumCookies", "DecorumTestSupport", "DecorumTesting", httpTypes]
        ),
        .testTarget(
            name: "DecorumEndpointsTests",
            dependencies: [
                "DecorumConformance", "DecorumDemo", "DecorumEndpoints", "DecorumTestSupport", "DecorumTesting",
                httpTypes,
            ]
        ),
        .testTarget(
            name: "DecorumLawTests", dependencies: ["Decorum", "DecorumConformance", "DecorumTesting", httpTypes]),
        // Sees what a user of the package sees.
        .testTarget(
            name: "DecorumPublicInterfaceTests",
            dependencies: [
                "Decorum", "DecorumAuthentication", "DecorumConformance", "DecorumTesting", "DecorumTransfers",
                httpTypes,
            ],
            packageAccess: false
        ),
        .testTarget(
            name: "DecorumArchiveTests",
            dependencies: ["Decorum", "DecorumArchive", "DecorumTestSupport", "DecorumTesting", httpTypes]
        ),
        .testTarget(
            name: "DecorumTestingTests",
            dependencies: [
                "Decorum", "DecorumArchive", "DecorumAuthentication", "DecorumTestSupport", "DecorumTesting", httpTypes,
            ]
        ),
        .testTarget(
            name: "DecorumCassetteImportTests",
            dependencies: [
                "Decorum", "DecorumArchive", "DecorumCassetteImport", "DecorumTestSupport", "DecorumTesting", httpTypes,
            ]
        ),
        .testTarget(
            name: "DecorumTestingTraitsTests",
            dependencies: ["Decorum", "DecorumTestingTraits", httpTypes],
            exclude: ["Cassettes"]
        ),
        .testTarget(
            name: "DecorumDocumentationTests",
            dependencies: [
                "Decorum", "DecorumArchive", "DecorumConformance", "DecorumDemo", "DecorumEndpoints",
                "DecorumTestSupport", "DecorumTesting", "DecorumTestingTraits", httpTypes,
            ],
            exclude: ["Cassettes"]
        ),
    ],
    swiftLanguageModes: [.v6]
)

// Xcode compiles a dependency without warnings, and refuses settings that turn them into errors.
let isStrict = Context.environment["DECORUM_STRICT"] != nil
let noWarnings: [SwiftSetting] = isStrict ? [.treatAllWarnings(as: .error)] : []
let exceptions: [SwiftSetting] = [
    .treatWarning("DeprecatedDeclaration", as: .warning), .treatWarning("ExplicitSendable", as: .error),
]
for target in package.targets where target.type != .plugin {
    target.swiftSettings =
        [
            .enableUpcomingFeature("ExistentialAny"),
            .enableUpcomingFeature("ImmutableWeakCaptures"),
            .enableUpcomingFeature("InferIsolatedConformances"),
            .enableUpcomingFeature("InternalImportsByDefault"),
            .enableUpcomingFeature("MemberImportVisibility"),
            .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            .strictMemorySafety(),
        ] + noWarnings + (isStrict ? exceptions : [])
}

// Built like a typical app: with the main actor as default isolation, and without the upcoming features above.
package.targets.append(
    .testTarget(
        name: "DecorumMainActorTests",
        dependencies: ["Decorum", "DecorumTesting", httpTypes],
        swiftSettings: [.defaultIsolation(MainActor.self)] + noWarnings
    )
)
