#!/usr/bin/env bash
# etcd, API server, controller manager and scheduler; without NODE=1 on loopback, as any user.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
pki=$state/pki
peer=http://127.0.0.1:$((etcd_port + 1))

start etcd etcd --data-dir "$state/etcd" --unsafe-no-fsync --log-level warn \
  --listen-client-urls "http://127.0.0.1:$etcd_port" \
  --advertise-client-urls "http://127.0.0.1:$etcd_port" \
  --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer"

flags=()
[ -z "$NODE" ] || flags=("--advertise-address=$node_address")
# With CLUSTER_AUDIT=1 it is written down who asked for what; no contents.
if [ -n "${CLUSTER_AUDIT:-}" ]; then
  cat >"$state/audit.yaml" <<'POLICY'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{ level: Metadata }]
POLICY
  flags+=("--audit-policy-file=$state/audit.yaml" "--audit-log-path=$state/audit.log")
fi
start kube-apiserver kube-apiserver "${flags[@]}" \
  --etcd-servers="http://127.0.0.1:$etcd_port" \
  --bind-address="$([ -n "$NODE" ] && echo 0.0.0.0 || echo 127.0.0.1)" --secure-port="$api_port" \
  --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
  --client-ca-file="$pki/ca.crt" \
  --kubelet-client-certificate="$pki/apiserver-kubelet.crt" \
  --kubelet-client-key="$pki/apiserver-kubelet.key" \
  --kubelet-certificate-authority="$pki/ca.crt" --kubelet-preferred-address-types=InternalIP \
  --service-account-issuer=https://kubernetes.default.svc.cluster.local \
  --service-account-key-file="$pki/sa.pub" --service-account-signing-key-file="$pki/sa.key" \
  --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
  --allow-privileged=true --service-cluster-ip-range="$services" --profiling=false
wait_for 120 kubectl get --raw /readyz

start kube-controller-manager kube-controller-manager \
  --kubeconfig="$state/controller-manager.kubeconfig" \
  --authentication-kubeconfig="$state/controller-manager.kubeconfig" \
  --authorization-kubeconfig="$state/controller-manager.kubeconfig" \
  --bind-address=127.0.0.1 --secure-port="$((api_port + 1))" --root-ca-file="$pki/ca.crt" \
  --service-account-private-key-file="$pki/sa.key" --use-service-account-credentials=true \
  --leader-elect=false --cluster-cidr=10.244.0.0/16 --allocate-node-cidrs=true \
  --service-cluster-ip-range="$services" --node-monitor-period=2s
start kube-scheduler kube-scheduler --kubeconfig="$state/scheduler.kubeconfig" \
  --authentication-kubeconfig="$state/scheduler.kubeconfig" \
  --authorization-kubeconfig="$state/scheduler.kubeconfig" \
  --bind-address=127.0.0.1 --secure-port="$((api_port + 2))" --leader-elect=false
wait_for 120 kubectl -n default get serviceaccount default
