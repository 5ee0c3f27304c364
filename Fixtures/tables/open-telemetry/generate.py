#!/usr/bin/env python3
"""Writes http-client.json: what OpenTelemetry's semantic conventions say about HTTP clients.

The argument is the folder of an unpacked `opentelemetry-semantic-conventions` wheel of PyPI, which is generated from the
conventions: version, instruments, units, stability and methods come from there, and each name is looked up in it. What it
lacks stands below by hand, after `model/http/{common,metrics,spans}.yaml` and `docs/http/http-metrics.md` at commit c2089b1b:
the attributes of each metric and of the span, their requirement levels, their types, and the buckets.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1]) / "opentelemetry/semconv"
BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
INTEGERS = {
    "http.response.status_code", "http.request.resend_count", "server.port", "network.peer.port", "http.request.size",
    "http.response.size", "http.request.body.size", "http.response.body.size"}

COMMON = {
    "http.request.method": "required", "server.address": "required", "server.port": "required",
    "error.type": "conditional", "http.response.status_code": "conditional", "network.protocol.name": "conditional",
    "network.protocol.version": "recommended", "url.scheme": "opt-in"}
SIZES = {**COMMON, "url.template": "conditional"}
CONNECTIONS = {
    "server.address": "required", "server.port": "required", "network.peer.address": "recommended",
    "network.protocol.version": "recommended", "url.scheme": "opt-in"}
METRICS = {
    "http.client.request.duration": {**COMMON, "url.template": "opt-in"},
    "http.client.active_requests": {
        "server.address": "required", "server.port": "required", "url.template": "conditional",
        "http.request.method": "recommended", "url.scheme": "opt-in"},
    "http.client.open_connections": {"http.connection.state": "required", **CONNECTIONS},
    "http.client.connection.duration": CONNECTIONS,
    "http.client.request.body.size": SIZES,
    "http.client.response.body.size": SIZES}
SPAN = {
    **COMMON, "url.full": "required", "http.request.method_original": "conditional",
    "http.request.resend_count": "recommended", "network.peer.address": "recommended",
    "network.peer.port": "recommended", "url.template": "opt-in", "network.transport": "opt-in",
    "user_agent.original": "opt-in", "user_agent.synthetic.type": "opt-in", "http.request.header": "opt-in",
    "http.response.header": "opt-in", "http.request.size": "opt-in", "http.response.size": "opt-in",
    "http.request.body.size": "opt-in", "http.response.body.size": "opt-in"}


def text(path):
    return (ROOT / path).read_text("utf-8")


def names(kind, stable):
    folder = kind if stable else "_incubating/" + kind
    return {name for file in (ROOT / folder).glob("*.py") for name in re.findall(r'"([a-z_.]+)"', file.read_text("utf-8"))}


STABLE = names("attributes", True)
KNOWN = STABLE | names("attributes", False)
STABLE_METRICS = names("metrics", True)


def attributes(levels):
    for name in levels:
        if name not in KNOWN:
            sys.exit(f"{name} is no attribute of this version")
    return [
        {"name": name, "type": "int" if name in INTEGERS else "string", "level": level,
         "isStable": name in STABLE}
        for name, level in sorted(levels.items())]


def metric(name, levels):
    stable = name in STABLE_METRICS
    source = text(("" if stable else "_incubating/") + "metrics/http_metrics.py")
    instrument, unit = re.search(
        rf'"{re.escape(name)}"\n"""\n.*?\nInstrument: (\w+)\nUnit: (\S+)\n', source).groups()
    row = {"name": name, "instrument": instrument, "unit": unit, "isStable": stable, "attributes": attributes(levels)}
    return {**row, "buckets": BUCKETS} if name == "http.client.request.duration" else row


version = re.findall(r"schemas/([\d.]+)\"", text("schemas.py"))[-1]
values = {
    name: re.findall(r'= "(\w+)"', body) for name, body in re.findall(
        r"class (\w+)\(Enum\):(.*?)(?=\n\n\n|\Z)", text("_incubating/attributes/http_attributes.py"), re.S)}
table = {
    "note": "OpenTelemetry semantic conventions, HTTP clients; Apache License 2.0; generated on 28 November 2026",
    "version": version,
    "methods": values["HttpRequestMethodValues"],
    "connectionStates": values["HttpConnectionStateValues"],
    "metrics": [metric(*item) for item in METRICS.items()],
    "span": {"kind": "client", "isStable": True, "attributes": attributes(SPAN)},
}
lines = json.dumps(table, indent=1)
# One line for each attribute.
lines = re.sub(r"\{\s+(\"name\": [^{}\[\]]*?)\s+\}", lambda match: "{" + re.sub(r"\s+", " ", match[1]) + "}", lines)
lines = re.sub(r"\[\s+([^{}\[\]]*?)\s+\]", lambda match: "[" + re.sub(r"\s+", " ", match[1]) + "]", lines)
(pathlib.Path(__file__).parent / "http-client.json").write_text(lines + "\n", "utf-8")
