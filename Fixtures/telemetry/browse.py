"""Opens a page in Chromium without a window, does steps in it, and writes their results as JSON.

    browse.py CHROMIUM PAGE STEPS

STEPS is a list: {"run": an expression}, {"cost": true}, which is the time of the processor for the page in milliseconds,
{"key": a name of a key}, {"type": a text}, {"click": a selector}, or {"picture": a file, "width": …, "height": …,
"dark": …}. The result has the value of each expression, the messages of the console with all errors, and the addresses that
the page asked for. It talks over two pipes (the protocol of DevTools), so it needs no library.
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

chromium, page, steps = sys.argv[1], pathlib.Path(sys.argv[2]).resolve().as_uri(), json.loads(sys.argv[3])
keys = {"Enter": ("\r", 13), "Escape": ("", 27), "ArrowDown": ("", 40), "ArrowUp": ("", 38), "/": ("/", 191), "Tab": ("", 9)}
console, asked = [], []


def main(send):
    def call(method, **parameters):
        answer = send(method, parameters)
        if "error" in answer:
            raise SystemExit(f"{method}: {answer['error']}")
        return answer["result"]

    def run(expression):
        result = call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    for domain in ("Page", "Runtime", "Log", "Network"):
        call(domain + ".enable")
    call("Performance.enable", timeDomain="threadTicks")
    call("Page.navigate", url=page)
    run("new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', () => done()))")
    results = []
    for step in steps:
        if "run" in step:
            results.append(run(step["run"]))
        elif "cost" in step:
            metrics = {metric["name"]: metric["value"] for metric in call("Performance.getMetrics")["metrics"]}
            results.append(str(round(metrics["TaskDuration"] * 1000)))
        elif "key" in step:
            text, code = keys[step["key"]]
            for kind in ("keyDown", "keyUp"):
                typed = {"text": text} if text and kind == "keyDown" else {}
                call("Input.dispatchKeyEvent", type=kind, key=step["key"], code=step["key"], windowsVirtualKeyCode=code, **typed)
        elif "type" in step:
            call("Input.insertText", text=step["type"])
        elif "click" in step:
            x, y = run(f"(box => [box.x + 5, box.y + 5])(document.querySelector({json.dumps(step['click'])}).getBoundingClientRect())")
            for kind in ("mousePressed", "mouseReleased"):
                call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        elif "picture" in step:
            call("Emulation.setDeviceMetricsOverride", width=step["width"], height=step["height"], deviceScaleFactor=1, mobile=False)
            scheme = "dark" if step.get("dark") else "light"
            call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))).then(() => 0)")
            data = call("Page.captureScreenshot", format="png")["data"]
            pathlib.Path(step["picture"]).write_bytes(base64.b64decode(data))
    print(json.dumps({"results": results, "console": console, "asked": [url for url in asked if url != page]}))


def serve(profile):
    to_child, from_parent = os.pipe()
    from_child, to_parent = os.pipe()

    def descriptors():
        # Above the two numbers, so that neither is overwritten.
        first, second = os.dup2(to_child, 100), os.dup2(to_parent, 101)
        os.dup2(first, 3)
        os.dup2(second, 4)

    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    browser = subprocess.Popen(
        [chromium, *options, f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"],
        preexec_fn=descriptors, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(to_child)
    os.close(to_parent)
    output, number, rest, session = os.fdopen(from_parent, "wb", 0), 0, b"", None

    def send(method, parameters):
        nonlocal number, rest
        number += 1
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        output.write(json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in rest:
                chunk = os.read(from_child, 1 << 16)
                if not chunk:
                    raise SystemExit("The browser has ended.")
                rest += chunk
            text, rest = rest.split(b"\0", 1)
            event = json.loads(text)
            if event.get("id") == number:
                return event
            if event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                console.append(json.dumps(event["params"]))
            elif event.get("method") == "Network.requestWillBeSent":
                asked.append(event["params"]["request"]["url"])

    try:
        targets = send("Target.getTargets", {})["result"]["targetInfos"]
        target = next(target["targetId"] for target in targets if target["type"] == "page")
        attached = send("Target.attachToTarget", {"targetId": target, "flatten": True})
        session = attached["result"]["sessionId"]
        main(send)
    finally:
        browser.terminate()
        browser.wait()


with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
    serve(folder)
