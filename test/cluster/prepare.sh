#!/usr/bin/env bash
# Fetches and builds what the test cluster is made of, into .cache/cluster: a link to a folder that
# all clones on this machine share as long as what they build is the same.
#
#   test/cluster/prepare.sh [helm] [debian] [kubernetes] [coredns]      all of these by default
#   test/cluster/prepare.sh conformance                                the Gateway API's own suite
#
# Every part leaves a stamp with its version, so that a second run takes no time and one that was
# interrupted goes on where it stopped. Go's own caches keep what was compiled before.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${CLUSTER_CACHE:-$here/../../.cache/cluster}
if [ -z "${CLUSTER_CACHE:-}" ] && { [ -L "$cache" ] || [ ! -e "$cache" ]; }; then
  sources=$(cd "$here" && sha256sum prepare.sh kubernetes/* coredns/* ../gateway-conformance/suite/*)
  shared=${XDG_CACHE_HOME:-$HOME/.cache}/portcullis
  mkdir -p "$(dirname "$cache")" "$shared"
  find "$shared" -maxdepth 1 -name 'cluster-*' -mtime +30 -exec rm -rf {} +
  shared=$shared/cluster-$(sha256sum <<<"$sources" | cut -c1-12)
  mkdir -p "$shared"
  touch "$shared"
  ln -sfn "$shared" "$cache"
fi
mkdir -p "$cache/bin" "$cache/cni" "$cache/stamps"
cache=$(cd "$cache" && pwd)

helm_version=v4.3.1
kubernetes_version=v1.36.3
coredns_version=v1.15.0
conformance_version=v1.6.3
# Debian's next release has programs that are new enough, and that run on the current one.
debian_new=forky
debian_old=bookworm

export CGO_ENABLED=0 GOWORK=off GOFLAGS="${GOFLAGS:--buildvcs=false} -p=${GO_JOBS:-2}"

prepare_helm() {
  (cd / && GOBIN="$cache/bin" go install -ldflags '-s -w' "helm.sh/helm/v4/cmd/helm@$helm_version")
}

prepare_kubernetes() {
  local version=k8s.io/component-base/version
  (cd "$here/kubernetes" && go build -mod=readonly -o "$cache/bin/kubernetes.new" -ldflags "-s -w \
    -X $version.gitVersion=$kubernetes_version -X $version.gitMajor=1 -X $version.gitMinor=36 \
    -X $version.gitTreeState=clean -X $version.gitCommit=0000000000000000000000000000000000000000 \
    -X $version.buildDate=2026-01-01T00:00:00Z" .)
  mv "$cache/bin/kubernetes.new" "$cache/bin/kubernetes"
  local name
  for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy; do
    ln -sf kubernetes "$cache/bin/$name"
  done
}

prepare_coredns() {
  (cd "$here/coredns" && go build -mod=readonly -ldflags '-s -w' -o "$cache/bin/coredns.new" .)
  mv "$cache/bin/coredns.new" "$cache/bin/coredns"
}

# The suite, and the backend of its tests; that is a module of its own, with its files hidden.
prepare_conformance() {
  local suite="$here/../gateway-conformance/suite" module=sigs.k8s.io/gateway-api/conformance work
  (cd "$suite" && go test -mod=readonly -c -ldflags '-s -w' -o "$cache/bin/conformance.new" .)
  work=$(mktemp -d)
  cp -r "$(cd "$suite" && go list -m -f '{{.Dir}}' $module)/echo-basic/." "$work"
  chmod -R u+w "$work"
  mv "$work/.go.mod" "$work/go.mod"
  mv "$work/.go.sum" "$work/go.sum"
  (cd "$work" && go build -mod=readonly -ldflags '-s -w' -o "$cache/bin/echo-basic" .)
  rm -rf "$work"
  mv "$cache/bin/conformance.new" "$cache/bin/conformance"
}

# Nothing is installed on the machine: packages are unpacked, and what needs their libraries gets
# them through a small script of the same name.
prepare_debian() {
  local work="$cache/debian"
  rm -rf "$work"
  mkdir -p "$work/new" "$work/old"
  unpack "$debian_new" "$work/new" etcd-server kubectl containerd containernetworking-plugins
  unpack "$debian_old" "$work/old" runc libseccomp2 nftables libnftables1 libnftnl11 libmnl0 \
    libedit2 libjansson4 libxtables12 libgmp10 libbsd0 libmd0 libtinfo6
  cp "$work"/new/usr/bin/{etcd,kubectl,containerd,ctr,containerd-shim-runc-v2} "$cache/bin/"
  cp "$work"/new/usr/lib/cni/{bridge,host-local,loopback} "$cache/cni/"
  mkdir -p "$cache/lib"
  find "$work/old" -name '*.so.*' -exec cp -P {} "$cache/lib/" \;
  with_libraries runc "$work/old/usr/sbin/runc"
  with_libraries nft "$work/old/usr/sbin/nft"
  rm -rf "$work"
}

# unpack SUITE FOLDER PACKAGE…
unpack() {
  local suite=$1 folder=$2 mirror wanted sum file
  shift 2
  mirror=${DEBIAN_MIRROR:-$(configured_mirror)}
  wanted=$(IFS='|' && echo "$*")
  curl -fsS --retry 5 "$mirror/dists/$suite/main/binary-amd64/Packages.xz" | xz -dc |
    awk -v RS= -v wanted="^Package: ($wanted)\n" '$0 ~ wanted {
      match($0, /\nFilename: [^\n]*/); file = substr($0, RSTART + 11, RLENGTH - 11)
      match($0, /\nSHA256: [^\n]*/); print substr($0, RSTART + 9, RLENGTH - 9), file }' >"$folder/list"
  [ "$(wc -l <"$folder/list")" -eq $# ] || { echo "$suite lacks some of: $*" >&2; return 1; }
  while read -r sum file; do
    curl -fsS --retry 5 -o "$folder/package.deb" "$mirror/$file"
    echo "$sum  $folder/package.deb" | sha256sum -c --quiet
    dpkg-deb -x "$folder/package.deb" "$folder"
  done <"$folder/list"
}

# The mirror that this machine installs from; another release of Debian is on the same.
configured_mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
    grep -v security | sed 's|/*$||;q'
}

with_libraries() {
  cp "$2" "$cache/lib/$1"
  printf '#!/bin/sh\nexport LD_LIBRARY_PATH=%s/lib\nexec %s/lib/%s "$@"\n' "$cache" "$cache" "$1" \
    >"$cache/bin/$1"
  chmod +x "$cache/bin/$1"
}

# part NAME VERSION  does it once, with one doer at a time
part() {
  local stamp="$cache/stamps/$1-$2" started=$SECONDS
  exec 9>"$cache/stamps/$1.lock"
  flock 9
  if [ ! -f "$stamp" ]; then
    "prepare_$1"
    touch "$stamp"
    echo "$1 $2: $((SECONDS - started)) s"
  fi
  exec 9>&-
}

[ $# -gt 0 ] || set -- helm debian kubernetes coredns
for name; do
  case $name in
    helm) part helm "$helm_version" ;;
    kubernetes) part kubernetes "$kubernetes_version" ;;
    coredns) part coredns "$coredns_version" ;;
    conformance) part conformance "$conformance_version" ;;
    debian) part debian "$debian_new" ;;
    *) echo "no such part: $name" >&2; exit 2 ;;
  esac
done
