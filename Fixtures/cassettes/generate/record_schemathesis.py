"""Records with Schemathesis, which writes the format of VCR and archives. The arguments are the origin and its program."""
import json
import os
import subprocess
import sys

base, program = sys.argv[1:3]


def operation(kind=None):
    result = {"responses": {"200": {"description": ""}}}
    if kind:
        schema = {"type": "object", "properties": {"a": {"type": "string", "enum": ["ä"]}}, "required": ["a"]}
        result["requestBody"] = {"required": True, "content": {kind: {"schema": schema, "example": {"a": "ä"}}}}
    return result


schema = {
    "openapi": "3.0.2",
    "info": {"title": "recorders", "version": "1"},
    "paths": {
        **{path: {"get": operation()} for path in ("/text", "/latin1", "/json", "/image", "/fields", "/empty", "/missing")},
        "/echo": {"post": operation("application/json")},
    },
}
with open("schema.json", "w") as file:
    json.dump(schema, file)
for name, options in (("text", []), ("exact", ["--report-preserve-bytes"])):
    subprocess.run(
        [program, "run", "schema.json", "--url", base, "--phases", "examples,coverage", "--max-examples", "1", "--mode", "positive",
         "--checks", "not_a_server_error", "--seed", "1", "--report-vcr-path", f"{name}.yaml", "--report-har-path", f"{name}.har",
         *options],
        check=False,
    )
    assert os.path.getsize(f"{name}.yaml") > 1000
os.remove("schema.json")
for name in os.listdir("."):
    if name.startswith(".") or os.path.isdir(name):
        subprocess.run(["rm", "-rf", name], check=True)
