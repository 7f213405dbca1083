"""Run a notebook and write it with what its cells give: `python website/notebook.py examples/first_hour.ipynb`.

With a second path it is written there, and the notebook stays as it is.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient


def main() -> None:
    """Every cell in its order, in a kernel of its own, in the folder of the notebook."""
    source, *elsewhere = map(Path, sys.argv[1:])
    notebook = nbformat.read(source, as_version=4)
    beside = {"metadata": {"path": str(source.parent)}}
    with TemporaryDirectory() as folder:
        sockets = {"transport": "ipc", "connection_file": f"{folder}/kernel.json"}  # files: no port is opened
        kernel = AsyncKernelManager(kernel_name="python3", **sockets)
        NotebookClient(notebook, km=kernel, startup_timeout=60, timeout=120, resources=beside).execute(cleanup_kc=True)
    for cell in notebook.cells:
        cell.metadata.clear()  # when each cell ran is different every time
    notebook.metadata.language_info = {"name": "python"}  # and so is which Python it was
    nbformat.write(notebook, elsewhere[0] if elsewhere else source)


if __name__ == "__main__":
    main()
