// Records with the recorder of nock, as objects, by the client of Node.js.
const fs = require("fs");
const http = require("http");
const nock = require("nock");
const base = process.argv[2];

function send(path, { method = "GET", headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(base + path, { method, headers }, (response) => {
      response.on("data", () => {});
      response.on("end", resolve);
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

async function record(name, options, exchanges) {
  nock.recorder.clear();
  nock.restore();
  nock.recorder.rec({ output_objects: true, dont_print: true, ...options });
  for (const [path, settings] of exchanges) await send(path, settings);
  fs.writeFileSync(name, JSON.stringify(nock.recorder.play(), null, 4));
  nock.restore();
}

const json = { "Content-Type": "application/json" };
(async () => {
  await record("responses.json", {}, [
    ["/text"], ["/json"], ["/lines"], ["/image"], ["/octets"], ["/damaged"], ["/gzip"], ["/deflate"], ["/fields"], ["/moved"],
    ["/empty"], ["/nothing"], ["/missing"], ["/busy"], ["/chunks"], ["/text?a=1&b=%20c"], ["/text", { method: "HEAD" }],
  ]);
  await record("requests.json", { enable_reqheaders_recording: true }, [
    ["/echo", { method: "POST", headers: json, body: JSON.stringify({ name: "Käse", n: [1, null] }) }],
    ["/echo", { method: "POST", headers: { "Content-Type": "text/plain" }, body: "plain" }],
    ["/echo", { method: "PUT", headers: { "Content-Type": "application/octet-stream" }, body: Buffer.from([0, 1, 255]) }],
    ["/echo", { method: "DELETE" }],
  ]);
})();
