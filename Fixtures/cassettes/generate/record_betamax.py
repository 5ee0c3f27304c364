"""Records with betamax: in its own format, with exact bytes, and in readable JSON."""
import sys

import betamax
import requests
from betamax_serializers import pretty_json

base = sys.argv[1]
betamax.Betamax.register_serializer(pretty_json.PrettyJSONSerializer)
with betamax.Betamax.configure() as config:
    config.cassette_library_dir = "."
    config.define_cassette_placeholder("<TOKEN>", "hidden")

def send(method, path, **options):
    try:
        session.request(method, base + path, **options)
    except requests.exceptions.ChunkedEncodingError:
        pass  # betamax has recorded the content, whose length it then counts wrongly.


with betamax.Betamax(session := requests.Session()).use_cassette("plain", record="all"):
    for path in ("/text", "/latin1", "/json", "/lines", "/image", "/damaged", "/gzip", "/empty", "/nothing", "/moved"):
        send("GET", path)
    send("HEAD", "/text")
    send("GET", "/missing")
    send("POST", "/echo", json={"name": "Käse"})
    send("POST", "/echo", data={"a": "1 2"})
    send("PUT", "/echo", data=bytes([0, 1, 255]))

with betamax.Betamax(session := requests.Session()).use_cassette("exact", record="all", preserve_exact_body_bytes=True):
    for path in ("/text", "/latin1", "/image", "/octets", "/damaged", "/gzip", "/empty", "/fields"):
        send("GET", path)
    send("PUT", "/echo", data=bytes([0, 1, 255]))
    send("GET", "/text", headers={"Authorization": "Bearer hidden"})

with betamax.Betamax(session := requests.Session()).use_cassette("pretty", record="all", serialize_with="prettyjson"):
    send("GET", "/json")
    send("GET", "/fields")
