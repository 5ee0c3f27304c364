import DecorumTesting
import Foundation

/// nginx, an independent server that writes the content of each request to a file.
///
/// It ends when the value is released, also where this process is killed.
struct NginxServer {
    private let script: RunningScript
    let url: String

    /// Starts nginx.
    init() async throws {
        let (script, port) = try await SecureServer.nginx { ["nginx.conf": Self.configuration(port: $0)] }
        self.script = script
        url = "http://127.0.0.1:\(port)"
    }

    /// The content of a file that an answer names.
    func content(of file: String) throws -> Data {
        try Data(contentsOf: script.folder.appending(path: file))
    }

    /// A request for `store` is answered with three lines: the file of its content, its media type and its length.
    private static func configuration(port: Int) -> String {
        """
        daemon off; master_process off; pid nginx.pid; error_log error.log;
        events { worker_connections 64; }
        http {
            access_log off; client_max_body_size 0; default_type text/plain;
            proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
            server {
                listen 127.0.0.1:\(port);
                location = /store {
                    client_body_in_file_only on; client_body_temp_path contents;
                    proxy_pass http://127.0.0.1:\(port)/answer; proxy_method GET; proxy_pass_request_body off;
                    proxy_set_header Content-Length ""; proxy_set_header X-File $request_body_file;
                    proxy_set_header X-Type $content_type; proxy_set_header X-Length $http_content_length;
                }
                location = /answer { return 200 "$http_x_file\\n$http_x_type\\n$http_x_length"; }
            }
        }

        """
    }
}
