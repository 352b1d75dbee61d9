#!/usr/bin/env bash
# Starts a cluster: the control plane alone, or with NODE=1 and as root also a node that runs pods.
# Prints where its kubeconfig is. Images for the node: archives in $CLUSTER_IMAGES, by spaces.
set -euo pipefail
. "$(dirname "$0")/environment.sh"

"$here/down.sh"
mkdir -p "$state/log" "$state/pid"
if [ -n "$NODE" ]; then "$here/network.sh"; fi
"$here/keys.sh"
"$here/control-plane.sh"
if [ -n "$NODE" ]; then "$here/node.sh"; fi
echo "$KUBECONFIG"
