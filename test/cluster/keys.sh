#!/usr/bin/env bash
# An authority, a certificate for each component, and their kubeconfigs, in $state.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
mkdir -p "$state/pki"
cd "$state/pki"
exec 2>"$state/log/keys.log"

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }

# certificate NAME SUBJECT USAGE [ALTERNATIVE NAMES]
certificate() {
  key "$1"
  openssl req -new -key "$1.key" -subj "$2" -out "$1.csr"
  {
    echo keyUsage=critical,digitalSignature
    echo "extendedKeyUsage=$3"
    [ -z "${4:-}" ] || echo "subjectAltName=$4"
  } >"$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 \
    -extfile "$1.ext" -out "$1.crt"
}

# client NAME SUBJECT  a certificate and a kubeconfig with it
client() {
  certificate "$1" "$2" clientAuth
  cat >"$state/$1.kubeconfig" <<EOF
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: $1}}]
clusters: [{name: test, cluster: {server: "$server", certificate-authority-data: $(base64 -w0 ca.crt)}}]
users: [{name: $1, user: {client-certificate-data: $(base64 -w0 "$1.crt"), client-key-data: $(base64 -w0 "$1.key")}}]
EOF
}

key ca
openssl req -x509 -new -key ca.key -days 30 -subj /CN=portcullis-test -out ca.crt \
  -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
openssl genrsa -out sa.key 2048
openssl rsa -in sa.key -pubout -out sa.pub
certificate apiserver /CN=kube-apiserver serverAuth \
  "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:${services%.0/16}.1,IP:$node_address"
certificate apiserver-kubelet /O=system:masters/CN=apiserver-kubelet clientAuth
certificate kubelet-serving "/CN=$node_name" serverAuth "DNS:$node_name,IP:$node_address,IP:127.0.0.1"
client admin /O=system:masters/CN=admin
client controller-manager /CN=system:kube-controller-manager
client scheduler /CN=system:kube-scheduler
client kubelet "/O=system:nodes/CN=system:node:$node_name"
client kube-proxy /CN=system:kube-proxy
client coredns /CN=coredns
