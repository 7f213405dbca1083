"""A Kafka broker for a while: one process, on a free port of loopback, in a temporary folder.

python examples/kafka_to_postgres/broker.py     # until Enter is pressed
"""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jars import jars

from fanlight.spark.java import require_java

_SECONDS = 90
_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/log
num.partitions=2
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""


@contextmanager
def broker() -> Iterator[str]:
    """The address of a broker that runs as long as the block does."""
    java = [require_java(), "-Xmx512m", "-XX:+UseSerialGC", "-cp", os.pathsep.join(map(str, jars("broker")))]
    with tempfile.TemporaryDirectory(prefix="kafka-") as folder:
        port, controller = _free_ports(2)
        settings = Path(folder, "server.properties")
        settings.write_text(_SETTINGS.format(folder=folder, port=port, controller=controller))
        identity = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        format_it = [*java, "kafka.tools.StorageTool", "format", "-t", identity, "-c", str(settings)]
        subprocess.run(format_it, check=True, capture_output=True, timeout=_SECONDS)
        with Path(folder, "output").open("wb") as output:
            server = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=output, stderr=output)
        try:
            _await(server, port, Path(folder, "output"))
            yield f"127.0.0.1:{port}"
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _free_ports(count: int) -> list[int]:
    doors = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(door.getsockname()[1]) for door in doors]
    for door in doors:
        door.close()
    return ports


def _await(server: subprocess.Popen[bytes], port: int, output: Path) -> None:
    for _ in range(10 * _SECONDS):
        if server.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"The broker did not start: {output.read_text(errors='replace')[-2000:]}")


if __name__ == "__main__":
    with broker() as address:
        input(f"Kafka listens on {address}; Enter ends it. ")
