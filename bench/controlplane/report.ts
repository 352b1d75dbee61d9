import { nanoseconds, type Report, type Table } from '../report.ts'

/** Results for one number of routes. */
export interface Measured {
  readonly routes: number
  /** Seconds from the first of the new routes until all policies are programmed. */
  readonly seconds: number
  readonly attached: number
  /** Milliseconds from the edit of a policy until the proxy enforces it. */
  readonly edits: readonly number[]
  /** The same until the controller has translated it, and until all proxy workers applied it. */
  readonly translated: readonly number[]
  readonly applied: readonly number[]
  /** CPU time of the controller per edit, in milliseconds. */
  readonly cpu: number
  /** CPU time per second when idle, in milliseconds. */
  readonly rest: number
  readonly rss: number
  readonly requests: number
  readonly failed: number
}

/** `peer`: the results of Envoy Gateway, or why there are none. */
export function reportOf(all: readonly Measured[], peer: readonly Measured[] | string): Report {
  const [first] = all
  const last = all.at(-1)
  if (first === undefined || last === undefined) throw new Error('nothing was measured')
  const growth = last.cpu / first.cpu
  const failed = all.reduce((sum, one) => sum + one.failed, 0)
  const slowest = Math.max(...all.map(({ edits }) => quantile(edits, 0.99)))
  return {
    intro: [
      'A controller, a proxy and an API server with its store, each a process of this machine. Each',
      'route has a policy. An edit is a changed rule of one policy, and ends when the proxy enforces',
      'it on a socket. Routes of a row are added to those of the row before; requests go through the',
      'proxy all the while. Envoy Gateway has an API server of its own, an Envoy, and a',
      'SecurityPolicy with the same rule for each route.',
      ...(typeof peer === 'string' ? [peer] : []),
    ],
    tables: [
      {
        title: 'One edit',
        columns: [
          'routes',
          'translated, p50',
          'enforced, p50',
          'p99',
          'by all workers, p50',
          'CPU time of the controller',
        ],
        rows: all.map(({ routes, translated, edits, applied, cpu }) => [
          `${routes}`,
          nanoseconds(quantile(translated, 0.5) * 1e6),
          nanoseconds(quantile(edits, 0.5) * 1e6),
          nanoseconds(quantile(edits, 0.99) * 1e6),
          nanoseconds(quantile(applied, 0.5) * 1e6),
          `${cpu.toFixed(1)} ms`,
        ]),
      },
      {
        title: 'From nothing to Programmed',
        columns: [
          'routes',
          'time',
          'attachedRoutes',
          'memory',
          'CPU at rest',
          'requests',
          'failed',
        ],
        rows: all.map((one) => [
          `${one.routes}`,
          `${one.seconds.toFixed(1)} s`,
          `${one.attached}`,
          `${Math.round(one.rss / 2 ** 20)} MiB`,
          `${(one.rest / 10).toFixed(1)} %`,
          `${one.requests}`,
          `${one.failed}`,
        ]),
      },
      ...(typeof peer === 'string' ? [] : [peerTable(all, peer)]),
    ],
    targets: [
      {
        what: 'edit to enforced, p99',
        wanted: '<= 100 ms',
        measured: nanoseconds(slowest * 1e6),
        met: slowest <= 100,
      },
      {
        what: `CPU time of an edit, ${last.routes} routes to ${first.routes}`,
        wanted: '<= 2 times',
        measured: `${growth.toFixed(1)} times`,
        met: growth <= 2,
      },
      { what: 'failed requests', wanted: '0', measured: `${failed}`, met: failed === 0 },
    ],
  }
}

/** Both control planes with the same numbers of routes. */
function peerTable(all: readonly Measured[], peer: readonly Measured[]): Table {
  const times = ({ seconds, edits, cpu, rss, failed }: Measured) => [
    `${seconds.toFixed(1)} s`,
    nanoseconds(quantile(edits, 0.5) * 1e6),
    nanoseconds(quantile(edits, 0.99) * 1e6),
    `${cpu.toFixed(1)} ms`,
    `${Math.round(rss / 2 ** 20)} MiB`,
    `${failed}`,
  ]
  return {
    title: 'Beside Envoy Gateway',
    columns: [
      'routes',
      'control plane',
      'from nothing',
      'an edit, p50',
      'p99',
      'CPU time of the controller',
      'memory',
      'failed requests',
    ],
    rows: peer.flatMap((theirs) => {
      const own = all.find(({ routes }) => routes === theirs.routes)
      return [
        ...(own === undefined ? [] : [[`${own.routes}`, 'Portcullis', ...times(own)]]),
        [`${theirs.routes}`, 'Envoy Gateway', ...times(theirs)],
      ]
    }),
  }
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
