#!/usr/bin/env bash
# "The node": a network namespace with a link to the machine. The rules of kube-proxy stay in there,
# and since the machine does not forward, nothing of the cluster gets out.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
ip netns add "$namespace"
ip link add "$link" type veth peer name eth0 netns "$namespace"
ip address add "$host_address/24" dev "$link"
ip link set "$link" up
ip -n "$namespace" address add "$node_address/24" dev eth0
ip -n "$namespace" link set lo up
ip -n "$namespace" link set eth0 up
ip -n "$namespace" route add default via "$host_address"
for range in "$pods" "$services" "$balancers"; do ip route replace "$range" via "$node_address" dev "$link"; done
"${inside[@]}" sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
