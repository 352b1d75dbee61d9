import { figure } from '../measure.ts'
import type { Report, Target } from '../report.ts'
import type { Field } from './contenders.ts'
import { type Steadiness, steadyLoads } from './load.ts'

const RATE = 2_000
const MILLISECONDS = 2_000
/**
 * Warm-up for the gateway's own code, as for the other loads: at this rate it takes other paths
 * than under full load, and after 20,000 requests V8 has compiled most of them.
 */
const WARM_UP = 20_000
/** Warm-up for the client's code. */
const CLIENT_WARM_UP = 10_000

/** Latency that a proxy adds to the backend's own at a fixed request rate. */
export async function benchLatency(field: Field, rounds: number): Promise<Omit<Report, 'intro'>> {
  const ways = [
    { name: 'backend alone', port: field.backend },
    ...field.proxies.map(({ name, port }) => ({ name, port })),
  ]
  const found = new Map<string, Steadiness[]>(ways.map(({ name }) => [name, []]))
  const warmUps = [
    { port: field.backend, milliseconds: CLIENT_WARM_UP },
    ...field.proxies
      .filter(({ isOwn }) => isOwn)
      .map(({ port }) => ({ port, milliseconds: WARM_UP })),
  ]
  const slices = Array.from({ length: rounds }, () =>
    ways.map(({ port }) => ({ port, milliseconds: MILLISECONDS })),
  )
  const loads = [...warmUps, ...slices.flat()].map((load) => ({ ...load, perSecond: RATE }))
  const all = (await steadyLoads(loads)).slice(warmUps.length)
  for (const [index, { name }] of slices.flatMap(() => ways).entries()) {
    found.get(name)?.push(all[index] as Steadiness)
  }
  const median = (name: string, of: (steadiness: Steadiness) => number) =>
    figure((found.get(name) ?? []).map(of)).median
  const p99 = (name: string) => median(name, (steadiness) => steadiness.p99)
  const p50 = (name: string) => median(name, (steadiness) => steadiness.p50)
  const rows = ways.map(({ name }) => {
    const failed = (found.get(name) ?? []).reduce((sum, each) => sum + each.failed, 0)
    const added = name === 'backend alone' ? '–' : milliseconds(p99(name) - p99('backend alone'))
    return [name, milliseconds(p50(name)), milliseconds(p99(name)), added, String(failed)]
  })
  const title = `Latency at ${RATE.toLocaleString('en-US')} requests per second`
  const columns = ['way', 'p50', 'p99', 'p99 added', 'failed']
  return { tables: [{ title, columns, rows }], targets: targetsOf(field, p99) }
}

/** Max milliseconds that the gateway may add beyond what nginx adds. */
const BEYOND_NGINX = 0.2

function targetsOf({ proxies }: Field, p99: (name: string) => number): Target[] {
  if (!proxies.some(({ name }) => name === 'nginx')) return []
  const max = p99('nginx') + BEYOND_NGINX
  const own = p99('portcullis')
  const wanted = `≤ nginx + ${BEYOND_NGINX} ms`
  return [{ what: 'p99 of latency', wanted, measured: milliseconds(own), met: own <= max }]
}

const milliseconds = (value: number) => `${value.toFixed(2)} ms`
