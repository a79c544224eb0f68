"""A client of `profwrap mcp` in plain JSON-RPC 2.0: a line for each message, no library of the protocol."""
import json
import subprocess

BYTES_MOST = 8000  # of an answer


class Server:
    """`profwrap mcp` of these runs. Counts the calls, and the bytes of their arguments and answers."""

    def __init__(self, profwrap, *runs, **options):
        self.process = subprocess.Popen([profwrap, "mcp", *runs], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, **options)
        self.id, self.calls, self.bytes = 0, 0, 0

    def send(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, method, **parameters):
        self.id += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.id, "method": method,
                              "params": parameters}).encode())
        reply = self.receive()
        assert reply["id"] == self.id and reply["jsonrpc"] == "2.0", reply
        return reply

    def call(self, name, is_error=False, **arguments):
        """The answer to a question."""
        result = self.ask("tools/call", name=name, arguments=arguments)["result"]
        assert result["isError"] == is_error, result
        (content,) = result["content"]
        assert content["type"] == "text" and len(content["text"]) <= BYTES_MOST, content
        self.calls += 1
        self.bytes += len(name) + len(json.dumps(arguments)) + len(content["text"])
        return json.loads(content["text"])

    def end(self):
        self.process.stdin.close()
        assert self.process.wait() == 0
        self.process.stdout.close()
