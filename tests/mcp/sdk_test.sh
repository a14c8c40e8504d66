#!/bin/bash
# The official SDK drives every tool of kforge mcp, over standard input and output and over HTTP, in both eras of the protocol.
# Exit status 77: the SDK cannot be had here.
set -u
here=$(dirname "$(readlink -f "$0")")
python=$("$here/../../tools/setup.sh" agents) || { echo "skipped: PyPI cannot be reached, so the SDK is not here"; exit 77; }
exec "$python" "$here/sdk_client.py" "$1" "$here/../.."
