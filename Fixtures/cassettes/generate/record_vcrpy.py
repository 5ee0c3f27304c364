"""Records with vcrpy: by requests, or by httpx where the second argument says so."""
import sys
import urllib.request

import vcr

base = sys.argv[1]
client = sys.argv[2] if len(sys.argv) > 2 else "requests"
# vcrpy before version 6 fails at a request of httpx whose body is not UTF-8.
client_has_bytes = int(vcr.__version__.split(".")[0]) >= 6


def by_requests():
    import requests

    def cassette(name, **options):
        return vcr.VCR(**options).use_cassette(name)

    with cassette("texts.yaml"):
        for path in ("/text", "/latin1", "/shift-jis", "/json", "/lines", "/windows", "/events"):
            requests.get(base + path)
    with cassette("bytes.yaml"):
        for path in ("/image", "/octets", "/damaged", "/gzip", "/deflate"):
            requests.get(base + path)
    with cassette("decoded.yaml", decode_compressed_response=True):
        requests.get(base + "/gzip")
        requests.get(base + "/deflate")
    with cassette("uploads.yaml"):
        requests.post(base + "/echo", json={"name": "Käse", "n": [1, 2.5, None]})
        requests.post(base + "/echo", data={"a": "1 2", "b": "ä&"})
        requests.put(base + "/echo", data=bytes([0, 1, 255, 254]), headers={"Content-Type": "application/octet-stream"})
        requests.post(base + "/echo", files={"file": ("a.bin", bytes(range(256)), "image/x")})
        requests.put(base + "/echo", data=iter([b"one ", b"two"]), headers={"Content-Type": "text/plain"})
        requests.request("PURGE", base + "/echo")
    with cassette("heads.yaml"):
        requests.get(base + "/fields")
        requests.get(base + "/moved")
        requests.post(base + "/other", data="x")
        requests.get(base + "/empty")
        requests.get(base + "/nothing")
        requests.head(base + "/text")
        requests.get(base + "/unchanged")
        requests.get(base + "/missing")
        requests.get(base + "/busy")
        requests.get(base + "/chunks")
        requests.get(base + "/until-close")
    with cassette("heads.json", serializer="json"):
        requests.get(base + "/fields")
        requests.post(base + "/echo", json={"a": "Käse"})
        requests.get(base + "/moved")
        requests.get(base + "/empty")
    with cassette(
        "filtered.yaml",
        filter_headers=[("authorization", "<TOKEN>"), "user-agent"],
        filter_query_parameters=[("key", "<KEY>")],
    ):
        requests.get(base + "/text?key=hidden&page=1", headers={"Authorization": "Bearer hidden"})
    with cassette("urllib.yaml"):
        urllib.request.urlopen(base + "/fields").read()
        urllib.request.urlopen(urllib.request.Request(base + "/echo", data=b"a=1")).read()


def by_httpx():
    import httpx

    with vcr.use_cassette("httpx.yaml"):
        with httpx.Client(follow_redirects=True) as client:
            for path in ("/text", "/latin1", "/json", "/image", "/gzip", "/fields", "/moved", "/empty", "/missing"):
                client.get(base + path)
            client.post(base + "/echo", json={"name": "Käse"})
            if client_has_bytes:
                client.post(base + "/echo", content=bytes([0, 1, 255]))


if client == "requests":
    by_requests()
by_httpx()
