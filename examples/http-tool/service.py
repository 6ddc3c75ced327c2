"""A stand-in for a weather service: GET /weather?city=NAME."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlparse


class Weather(BaseHTTPRequestHandler):
    def do_GET(self):
        city = parse_qs(urlparse(self.path).query).get("city", ["?"])[0]
        body = json.dumps({"city": city, "summary": f"8 degrees and rain in {city}"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


host, port = sys.argv[1].split(":")
server = HTTPServer((host, int(port)), Weather)
print(f"listens on http://{host}:{port}", flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    pass
