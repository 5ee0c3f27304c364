import Foundation
import PackagePlugin

/// Builds and runs the command without installing it, as in `swift package --traits CommandLine decorum doctor`.
///
/// Where plugins run in a sandbox, as on macOS, a subcommand that writes or that uses the network needs
/// `--allow-writing-to-directory` with a folder, or `--allow-network-connections all`, before the word `decorum`.
@main
struct DecorumCommandPlugin: CommandPlugin {
    func performCommand(context: PluginContext, arguments: [String]) throws {
        // A dependency on the tool would build each module of the package once more, in every build of it.
        let result = try packageManager.build(.product("decorum"), parameters: .init())
        guard result.succeeded, let tool = result.builtArtifacts.first(where: { $0.kind == .executable }) else {
            Diagnostics.error("The command cannot be built:\n\(result.logText)")
            return
        }
        let process = Process()
        process.executableURL = tool.url
        process.arguments = arguments
        process.currentDirectoryURL = context.package.directoryURL
        try process.run()
        process.waitUntilExit()
        // The command has told what is wrong.
        if process.terminationStatus != 0 { exit(process.terminationStatus) }
    }
}
