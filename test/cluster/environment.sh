# Settings that the scripts of this folder share; source it.
#
# With NODE=1 the cluster has a real node. Everything that changes the network then lives in one
# network namespace, "the node": the machine itself only gets a link to it and three routes.
# CLUSTER_NUMBER (0 to 9) keeps several such nodes of one machine apart.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$(cd "${CLUSTER_CACHE:-$here/../../.cache/cluster}" && pwd)
: "${NODE:=}"
: "${CLUSTER_NUMBER:=0}"
suffix=${CLUSTER_NUMBER#0}
: "${CLUSTER:=$([ -n "$NODE" ] && echo "node$suffix" || echo plane)}"
# State: keys, logs, process ids, the database. Removed when the cluster is stopped.
: "${state:=${CLUSTER_STATE:-/tmp/portcullis-$CLUSTER}}"
bin=$cache/bin
export PATH="$bin:$PATH" KUBECONFIG="$state/admin.kubeconfig"

namespace=portcullis-node$suffix
link=portcullis$CLUSTER_NUMBER
control_group=portcullis$suffix-pods
host_address=10.99.$CLUSTER_NUMBER.1
node_address=10.99.$CLUSTER_NUMBER.2
pods=10.244.$CLUSTER_NUMBER.0/24
services=10.$((96 + CLUSTER_NUMBER * 16)).0.0/16
balancers=10.98.$CLUSTER_NUMBER.0/24
dns_address=${services%.0/16}.10
node_name=node

if [ -n "$NODE" ]; then
  api_address=$node_address api_port=6443 etcd_port=2379
  inside=(nsenter "--net=/run/netns/$namespace")
else
  api_address=127.0.0.1 api_port=${API_PORT:-16443} etcd_port=${ETCD_PORT:-12379}
  inside=()
fi
server=https://$api_address:$api_port

# start NAME COMMAND…  in the background, with a log and a file that has its process id
start() {
  local name=$1
  shift
  setsid "${inside[@]}" "$@" >"$state/log/$name.log" 2>&1 </dev/null &
  echo $! >"$state/pid/$name"
}

# wait_for SECONDS COMMAND…
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    if [ $SECONDS -ge $end ]; then
      echo "not in time: $*" >&2
      tail -n 5 "$state"/log/*.log >&2
      return 1
    fi
    sleep 0.1
  done
}
