import { gatewayApiDefinitions } from '../test/cluster/gateway-api.ts'
import { type Cluster, missing, startCluster } from '../test/cluster/harness.ts'
import { freePorts } from '../test/free-port.ts'
import { prepareEnvoyGateway, startEnvoyGateway } from './controlplane/envoy-gateway.ts'
import { PlaneBench } from './controlplane/measure.ts'
import { startOwn } from './controlplane/own.ts'
import type { Plane } from './controlplane/plane.ts'
import { type Measured, reportOf } from './controlplane/report.ts'
import { inFolder } from './proxy/bench-folder.ts'
import type { Report } from './report.ts'

/** CONTROLPLANE_SIZES: numbers of routes, each with a policy; the first is the baseline. */
const SIZES = sizesOf('CONTROLPLANE_SIZES', '100,1000,5000')
/** The same for Envoy Gateway, which takes far longer with many routes. */
const PEER_SIZES = sizesOf('CONTROLPLANE_PEER_SIZES', '100,1000')

function sizesOf(variable: string, otherwise: string): readonly number[] {
  return (process.env[variable] ?? otherwise).split(',').filter(Boolean).map(Number)
}

/** Runs controllers with a proxy as processes, each against a separate real API server. */
export async function controlplane(): Promise<Report> {
  const reason = missing()
  if (reason !== undefined) throw new Error(reason)
  const own = await measure(SIZES, (cluster, port) => startOwn(cluster, port))
  const without = prepareEnvoyGateway()
  if (without !== undefined) return reportOf(own, `Envoy Gateway is left out: ${without}.`)
  const start = (folder: string) => (cluster: Cluster, port: number) =>
    startEnvoyGateway(cluster, folder, port)
  const peer = await inFolder((folder) => measure(PEER_SIZES, start(folder)))
  return reportOf(own, peer)
}

async function measure(
  sizes: readonly number[],
  start: (cluster: Cluster, port: number) => Promise<Plane>,
): Promise<readonly Measured[]> {
  const cluster = await startCluster()
  const [port = 0] = await freePorts(8)
  let plane: Plane | undefined
  let bench: PlaneBench | undefined
  try {
    cluster.createNamespace('apps')
    for (const file of gatewayApiDefinitions('experimental'))
      cluster.kubectl(['apply', '--server-side', '-f', file])
    plane = await start(cluster, port)
    bench = new PlaneBench(cluster, plane)
    await bench.prepare()
    const all: Measured[] = []
    for (const size of sizes) all.push(await bench.measure(size))
    return all
  } finally {
    bench?.close()
    await plane?.close()
    await cluster.close()
  }
}
