import { Socket } from 'node:net'
import type { Exchange } from '../src/exchange/exchange.ts'
import type { Backend } from '../src/model/backend.ts'
import type { Attached } from '../src/model/policy.ts'
import type { Attempt, Choice, Cluster } from '../src/upstream/cluster.ts'
import { type ClusterDeps, openCluster } from '../src/upstream/clusters.ts'
import type { Dial } from '../src/upstream/connect.ts'
import { Resolver } from '../src/upstream/dns.ts'
import { systemNames } from '../src/upstream/name-source.ts'
import { Pool } from '../src/upstream/pool.ts'
import { Deadlines } from '../src/wire/deadlines.ts'
import type { ClientConnection } from '../src/wire/http1/client-connection.ts'
import { type Contender, contender, type Figure, interleave, sink } from './measure.ts'
import { nanoseconds, type Report, type Target } from './report.ts'

const ENDPOINTS = 10
const ORIGIN = { document: 'bench', path: [] } as unknown as Backend['origin']
const OVER: Attempt = { outcome: 'responded', status: 200, duration: 1 }

/** Cost of selecting an endpoint per request, including its accounting. */
export async function upstream(): Promise<Report> {
  const resolver = new Resolver({ lookupFamily: 'V4Only' }, { source: systemNames() })
  const around: ClusterDeps = {
    settings: {
      connectTimeout: 1_000,
      idleTimeout: 1_000,
      maxAge: 3_600_000,
      keepalive: { enabled: false, time: 0, interval: 0, retries: 0 },
    },
    deadlines: new Deadlines(),
    resolver,
  }
  const open = (algorithm: string, ...others: readonly Attached[]) =>
    openCluster(BACKEND, [policy('loadBalancer', { algorithm }), ...others], around, { hashKey })
  const eviction = { duration: 1, consecutiveFailures: 5, restoreHealth: 1, maxEvicted: 0.5 }
  const contenders = [
    ['round robin', open('RoundRobin')],
    ['least request', open('LeastRequest')],
    ['consistent hash', open('ConsistentHash')],
    [
      'least request, outlier detection',
      open('LeastRequest', policy('outlierDetection', { eviction })),
    ],
  ] as const
  const figures = await interleave([
    ...contenders.map(([name, cluster]) => contender(name, (times) => turns(cluster, times))),
    await pooled(around.deadlines),
  ])
  for (const [, cluster] of contenders) cluster.close()
  resolver.close()
  return {
    intro: [`choose() and done() of a cluster with ${ENDPOINTS} endpoints, all healthy; CPU time.`],
    tables: [
      {
        title: 'Choosing an endpoint',
        columns: ['algorithm', 'p10', 'median'],
        rows: [...figures].map(([name, { p10, median }]) => [
          name,
          nanoseconds(p10),
          nanoseconds(median),
        ]),
      },
    ],
    targets: [
      target('round robin', 100, figures.get('round robin')),
      target('least request', 200, figures.get('least request')),
    ],
  }
}

const BACKEND: Backend = {
  kind: 'host',
  name: 'bench',
  origin: ORIGIN,
  policies: [],
  endpoints: Array.from({ length: ENDPOINTS }, (_, at) => ({ host: `10.0.0.${at}`, port: 80 })),
}

function policy(kind: string, value: unknown): Attached {
  const place = { section: 'backend', level: 'backend', policy: 'bench', origin: ORIGIN } as const
  return { state: 'valid', kind, ...place, value }
}

const EXCHANGES = Array.from({ length: 64 }, (_, at) => {
  return { request: { host: `session-${at}` } } as unknown as Exchange
})

function hashKey({ request }: Exchange): string {
  return request.host
}

function turns(cluster: Cluster, times: number): void {
  const none: readonly string[] = []
  for (let i = 0; i < times; i++) {
    const choice = cluster.choose(EXCHANGES[i & 63] as Exchange, none) as Choice
    sink.count += choice.endpoint.length
    choice.done(OVER)
  }
}

/** Takes a connection from the pool and returns it; there is no peer, as nothing is sent. */
async function pooled(deadlines: Deadlines): Promise<Contender> {
  const dial: Dial = ({ opened }) => {
    setImmediate(() => opened(new Socket(), ''))
    return { cancel: () => {} }
  }
  const pool = new Pool(dial, { idleTimeout: 1e9, connectTimeout: 1e9, max: 8 }, deadlines)
  const connections = await Promise.all(
    Array.from({ length: 8 }, () => {
      return new Promise<ClientConnection>((connected, unconnected) => {
        pool.request({ connected, unconnected })
      })
    }),
  )
  for (const connection of connections) connection.onIdle(connection)
  return contender('pool: take and give back', (times) => {
    for (let i = 0; i < times; i++) {
      const connection = pool.take() as ClientConnection
      connection.onIdle(connection)
    }
  })
}

function target(name: string, max: number, figure: Figure | undefined): Target {
  const measured = figure?.p10 ?? Number.NaN
  return {
    what: `${name}, ${ENDPOINTS} endpoints`,
    wanted: `< ${max} ns`,
    measured: nanoseconds(measured),
    met: measured < max,
  }
}
