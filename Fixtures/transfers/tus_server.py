"""aiohttp-tus, from PyPI, at /files: stores files in the current folder, serves until it is ended, and prints its URL."""
import json
import pathlib
import socket

from aiohttp import web
from aiohttp_tus import setup_tus

listener = socket.create_server(("127.0.0.1", 0))
print(json.dumps([f"http://127.0.0.1:{listener.getsockname()[1]}"]), flush=True)
app = setup_tus(web.Application(), upload_path=pathlib.Path.cwd(), upload_url="/files")
web.run_app(app, sock=listener, print=None)
