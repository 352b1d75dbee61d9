#!/usr/bin/env bash
# Stops what up.sh started, each process by its id, and removes what it made.
. "$(dirname "$0")/environment.sh"
[ -d "$state" ] || exit 0

stop() {
  local file="$state/pid/$1" id
  [ -f "$file" ] || return 0
  id=$(cat "$file")
  kill "$id" 2>/dev/null
  for _ in $(seq 100); do
    kill -0 "$id" 2>/dev/null || break
    sleep 0.05
  done
  kill -9 "$id" 2>/dev/null
  rm -f "$file"
}

for name in balancer coredns kube-proxy kubelet; do stop $name; done
if [ -d "$state/containerd" ]; then
  # Pods of this cluster are known by their cgroup, their shims by the socket they were given.
  for _ in 1 2 3; do
    for file in $(find /sys/fs/cgroup -path "*/$control_group/*" -name cgroup.procs 2>/dev/null); do
      # It may go with its last process while it is read.
      { while read -r id; do kill -9 "$id"; done <"$file"; } 2>/dev/null
    done
    sleep 0.1
  done
  stop containerd
  for folder in /proc/[0-9]*; do
    if tr '\0' ' ' <"$folder/cmdline" 2>/dev/null | grep -q -- "-address $state/containerd/containerd.sock"; then
      kill -9 "${folder#/proc/}" 2>/dev/null
    fi
  done
  awk -v state="$state/" 'index($2, state) == 1 {print $2}' /proc/mounts | sort -r |
    while read -r mount; do umount -l "$mount" 2>/dev/null; done
fi
for name in kube-scheduler kube-controller-manager kube-apiserver etcd; do stop $name; done
if [ -n "$NODE" ]; then
  ip link del "$link" 2>/dev/null
  ip netns del "$namespace" 2>/dev/null
  find /sys/fs/cgroup -depth -type d \( -path "*/$control_group" -o -path "*/$control_group/*" \) -exec rmdir {} + 2>/dev/null
  # Places that the programs have no setting for; what others have in them stays.
  rmdir /var/log/containers /var/lib/cni/results /var/lib/cni /var/lib/kubelet/device-plugins \
    /var/lib/kubelet /run/containerd/{s,runc/k8s.io,runc} /run/containerd 2>/dev/null
fi
grep -q " $state/" /proc/mounts || rm -rf "$state"
true
