#!/usr/bin/env bash
# The node itself: containerd, kubelet, kube-proxy, names, and addresses for load balancers.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
pki=$state/pki
socket=$state/containerd/containerd.sock
mkdir -p "$state"/{containerd,cni,kubelet,manifests,images}
# A name that no other kubelet of the machine has, in every hierarchy of control groups.
for hierarchy in /sys/fs/cgroup/*/; do
  case $hierarchy in */unified/) continue ;; esac
  mkdir -p "$hierarchy/$control_group" 2>/dev/null || continue
  for file in cpuset.cpus cpuset.mems; do
    [ ! -f "$hierarchy/$file" ] || cat "$hierarchy/$file" >"$hierarchy/$control_group/$file"
  done
done

cat >"$state/cni/10-bridge.conflist" <<EOF
{"cniVersion": "1.0.0", "name": "bridge", "plugins": [{
  "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
  "ipam": {"type": "host-local", "dataDir": "$state/cni-addresses", "ranges": [[{"subnet": "$pods"}]],
           "routes": [{"dst": "0.0.0.0/0"}]}}]}
EOF
cat >"$state/containerd.toml" <<EOF
version = 3
root = "$state/containerd/root"
state = "$state/containerd/state"
imports = []
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs", "io.containerd.nri.v1.nri"]
[grpc]
  address = "$socket"
[ttrpc]
  address = "$socket.ttrpc"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "localhost/pause:1"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        SystemdCgroup = false
        BinaryName = "$bin/runc"
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["$cache/cni"]
    conf_dir = "$state/cni"
EOF
cat >"$state/kubelet.yaml" <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /$control_group
enforceNodeAllocatable: [pods]
containerRuntimeEndpoint: unix://$socket
address: $node_address
port: 10250
healthzBindAddress: 127.0.0.1
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $pki/kubelet-serving.crt
tlsPrivateKeyFile: $pki/kubelet-serving.key
clusterDNS: ["$dns_address"]
clusterDomain: cluster.local
resolvConf: $state/resolv.conf
staticPodPath: $state/manifests
podLogsDir: $state/pod-logs
volumePluginDir: $state/volume-plugins
failSwapOn: false
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 50Mi, nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%"}
nodeStatusUpdateFrequency: 5s
# ConfigMaps reach pods within this time and some, not within a minute or two.
syncFrequency: 5s
configMapAndSecretChangeDetectionStrategy: Watch
serializeImagePulls: false
maxPods: 200
EOF
cat >"$state/kube-proxy.yaml" <<EOF
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clientConnection: {kubeconfig: $state/kube-proxy.kubeconfig}
clusterCIDR: 10.244.0.0/16
hostnameOverride: $node_name
bindAddress: 127.0.0.1
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
nftables: {minSyncPeriod: 100ms, syncPeriod: 30s}
EOF
echo "nameserver $node_address" >"$state/resolv.conf"
cat >"$state/Corefile" <<EOF
.:53 {
  errors
  ready 127.0.0.1:8181
  kubernetes cluster.local in-addr.arpa {
    kubeconfig $state/coredns.kubeconfig
    pods insecure
  }
  cache 5
}
EOF

start containerd containerd --config "$state/containerd.toml"
wait_for 60 ctr -a "$socket" version
"$here/pause-image.ts" "$state/images/pause.tar"
for archive in "$state/images/pause.tar" ${CLUSTER_IMAGES:-}; do
  ctr -a "$socket" -n k8s.io images import --local "$archive" >>"$state/log/images.log" 2>&1
done

start kubelet kubelet --config="$state/kubelet.yaml" --kubeconfig="$state/kubelet.kubeconfig" \
  --hostname-override="$node_name" --node-ip="$node_address" --root-dir="$state/kubelet" \
  --cert-dir="$state/kubelet-pki"
kubectl create clusterrolebinding test-proxy --clusterrole=system:node-proxier --user=system:kube-proxy >/dev/null
sed "s/NODE_ADDRESS/$node_address/; s/DNS_ADDRESS/$dns_address/" "$here/names.yaml" | kubectl apply -f - >/dev/null
start kube-proxy kube-proxy --config="$state/kube-proxy.yaml"
start coredns coredns -conf "$state/Corefile"
start balancer node "$here/balancer.ts" "$KUBECONFIG" "${balancers%.*}"
wait_for 120 kubectl wait --for=condition=Ready "node/$node_name" --timeout=1s
wait_for 60 "${inside[@]}" curl -sf http://127.0.0.1:10256/livez
wait_for 60 "${inside[@]}" curl -sf http://127.0.0.1:8181/ready
