#!/bin/sh
# Clients and servers that others wrote, at the versions that the tests were written for. They are
# no dependencies: what cannot be had within the limit is named here, and its tests are skipped.
#
#   test/peers/install.sh [SECONDS]    for each of them; 300 by default
cd "$(dirname "$0")/../.." || exit 1
limit=${1:-300}
PATH="$PWD/node_modules/.bin:$PATH"

# A folder is there only if all of it is: what was cut off is made again the next time.
install() {
  folder=.cache/$1
  shift
  [ -d "$folder" ] && return
  rm -rf "$folder.part"
  mkdir -p "$folder.part"
  if timeout "$limit" "$@" >/dev/null 2>&1; then
    mv "$folder.part" "$folder"
  else
    rm -rf "$folder.part"
    echo "clients      $folder could not be installed within $limit s: its tests are skipped"
  fi
}

node_packages() {
  own=$1
  shift
  install "$own" npm install --prefix ".cache/$own.part" --no-save --no-audit --no-fund \
    --ignore-scripts "$@"
}

python_packages() {
  own=$1
  shift
  install "$own" python3 -m pip install --quiet --no-compile --target ".cache/$own.part" "$@"
}

(
  node_packages llm-clients/node @google/genai@2.32.0 ai@7.0.169 @ai-sdk/openai@4.0.114 \
    @ai-sdk/anthropic@4.0.102 @langchain/core@1.2.13 @langchain/openai@1.6.0 @langchain/anthropic@1.5.11
  node_packages mcp-clients/conformance @modelcontextprotocol/conformance@0.2.0-alpha.12
  node_packages mcp-clients/node @modelcontextprotocol/inspector@2.12.0 \
    @modelcontextprotocol/server-memory@2026.8.31
) &
if command -v python3 >/dev/null; then
  python_packages mcp-clients/python mcp==2.3.0 fastmcp==4.1.2 mcp-server-time==2026.10.19 \
    mcp-server-git==2026.10.19
  python_packages llm-clients/python openai==3.49.0 anthropic==2.8.0
  python_packages python pyjwt==2.15.1 cryptography==50.0.2 prometheus_client==0.26.0 \
    opentelemetry-proto==1.45.2
  python_packages http2-python 'httpx[http2]==0.28.1' h2==4.4.1 grpcio==1.85.1
fi
# nghttp, h2load and wrk, where Debian's packages can be installed.
debian_packages() {
  DEBIAN_FRONTEND=noninteractive timeout "$limit" apt-get install -y --no-install-recommends \
    -o DPkg::Lock::Timeout=60 nghttp2-client wrk >/dev/null 2>&1
}
if { ! command -v h2load || ! command -v wrk; } >/dev/null && command -v apt-get >/dev/null &&
  [ "$(id -u)" -eq 0 ]; then
  debian_packages || { timeout "$limit" apt-get update >/dev/null 2>&1 && debian_packages; } ||
    echo 'clients      nghttp2-client and wrk could not be installed: their tests are skipped'
fi
wait
