# Records with VCR for Ruby: as YAML and JSON, with and without exact bytes.
require "json"
require "net/http"
require "vcr"

BASE = URI(ARGV[0])
VCR.configure do |config|
  config.cassette_library_dir = "."
  config.hook_into :webmock
  config.filter_sensitive_data("<TOKEN>") { "hidden" }
end

def get(path, headers = {})
  Net::HTTP.start(BASE.host, BASE.port) { |http| http.get(path, headers) }
end

def upload(method, path, body, type)
  Net::HTTP.start(BASE.host, BASE.port) { |http| http.send_request(method, path, body, "Content-Type" => type) }
end

def record(name, **options)
  VCR.use_cassette(name, record: :all, **options) { yield }
end

plain = { "Accept-Encoding" => "identity" }
record("texts") do
  %w[/text /latin1 /shift-jis /json /lines /windows /events].each { |path| get(path, plain) }
end
record("bytes") { %w[/image /octets /damaged /gzip /deflate].each { |path| get(path, plain) } }
record("exact", preserve_exact_body_bytes: true) do
  %w[/text /latin1 /image /octets /damaged /gzip].each { |path| get(path, plain) }
  upload("PUT", "/echo", [0, 1, 255].pack("C*"), "application/octet-stream")
end
record("decoded", decode_compressed_response: true) { get("/gzip", plain) }
record("heads") do
  %w[/fields /moved /empty /nothing /unchanged /missing /busy /chunks /until-close].each { |path| get(path, plain) }
  Net::HTTP.start(BASE.host, BASE.port) { |http| http.head("/text") }
  get("/text", plain.merge("Authorization" => "Bearer hidden"))
end
record("uploads") do
  upload("POST", "/echo", JSON.generate(name: "Käse"), "application/json")
  upload("POST", "/echo", "a=1+2&b=%C3%A4", "application/x-www-form-urlencoded")
  upload("PUT", "/echo", [0, 1, 255].pack("C*"), "application/octet-stream")
  upload("DELETE", "/echo", nil, "text/plain")
end
record("heads-json", serialize_with: :json) do
  %w[/text /json /fields /empty].each { |path| get(path, plain) }
end
record("exact-json", serialize_with: :json, preserve_exact_body_bytes: true) { %w[/image /latin1].each { |path| get(path, plain) } }
record("compressed", serialize_with: :compressed) { %w[/text /json].each { |path| get(path, plain) } }
record("psych", serialize_with: :psych) { get("/lines", plain) }
record("none") {}
