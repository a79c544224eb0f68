"""What the tests of servers share: clients that send bytes as they are."""
import contextlib
import socket

PATIENCE_S = 60


def connect(address):
    """address: (host, port), or the path of a Unix socket."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    client = socket.socket(family, socket.SOCK_STREAM)
    client.settimeout(PATIENCE_S)
    client.connect(address)
    return client


def receive(client):
    """All bytes until the server closes."""
    answer = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := client.recv(65536):
            answer += piece
    return answer


def talk(address, request):
    """Sends these bytes, and returns the whole answer."""
    with connect(address) as client:
        with contextlib.suppress(OSError):
            client.sendall(request)
        return receive(client)


def is_open(client):
    client.setblocking(False)
    try:
        return bool(client.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return True
    finally:
        client.settimeout(PATIENCE_S)
