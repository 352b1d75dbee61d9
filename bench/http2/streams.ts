import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { figure } from '../measure.ts'
import { RULE_HEADER } from '../proxy/configurations.ts'
import { type Candidate, type Field, openField } from '../proxy/contenders.ts'
import { findProgram } from '../proxy/find.ts'
import { fullHttp2Load, fullLoad } from '../proxy/load.ts'
import {
  type Form,
  hasNginx,
  http2Forms,
  type Medians,
  measureTogether,
  mediansOf,
  otherTable,
  type Rounds,
  targetsOf,
  UPLOAD,
  uploadScript,
} from '../proxy/traffic.ts'
import { type Report, ratio, type Target } from '../report.ts'

const CONNECTIONS = 8
/** Max cost of HTTP/2 relative to this gateway's HTTP/1.1. */
const MAX_RATIO = 1.3
/** The same if streams of one connection take turns: their pieces are shorter. */
const MAX_TURNS_RATIO = 1.5
const [RESPONSES, UPLOADS] = ['responses of 1 MiB', 'uploads of 1 MiB']
const TURNS = `${UPLOADS}, 4 streams of a connection`
const over = (version: string, what: string) => `HTTP/${version}, ${what}`

/** Small requests, bodies and many streams per connection over HTTP/2, against other proxies. */
export async function benchStreams(
  folder: string,
  rounds: number,
): Promise<Omit<Report, 'intro'> & { readonly missing: readonly string[] }> {
  const wrk = findProgram('wrk', '-v')
  const h2load = findProgram('h2load', '--version')
  const field = await openField(folder)
  const missing = [...field.missing, ...[wrk, h2load].filter((found) => typeof found === 'string')]
  if (typeof wrk === 'string' || typeof h2load === 'string' || !hasNginx(field))
    return { missing, tables: [], targets: [] }
  const forms = streamForms(field, wrk.program, h2load.program, rounds)
  // Measured separately and first, before large bodies leave their mark on the process.
  const small = http2Forms(field, { h2load: h2load.program }, rounds)
  const measured = [
    ...(await measureTogether(field.proxies, small)),
    ...(await measureTogether(field.proxies, forms)),
  ]
  const every = [...small, ...forms]
  const byForm = new Map(every.map(({ name }, at) => [name, measured[at] as Rounds]))
  const all = new Map(every.map(({ name }, at) => [name, mediansOf(measured[at] as Rounds)]))
  return {
    missing,
    tables: [
      otherTable('CPU µs per request', field.proxies, all, ({ cpu }) => cpu.toFixed(1)),
      otherTable('Requests per second', field.proxies, all, ({ perSecond }) =>
        Math.round(perSecond).toLocaleString('en-US'),
      ),
    ],
    targets: [
      ...every.flatMap((form) => targetsOf(form, all.get(form.name) as Medians)),
      toHttp1(byForm, RESPONSES),
      toHttp1(byForm, UPLOADS),
      toHttp1(byForm, UPLOADS, TURNS, MAX_TURNS_RATIO),
    ],
  }
}

/** Bodies over both HTTP versions, and many streams. */
export function streamForms(
  field: Field,
  wrk: string,
  h2load: string,
  rounds: number,
): readonly Form[] {
  const body = join(field.folder, 'body')
  writeFileSync(body, Buffer.alloc(UPLOAD, 'x'))
  const script = uploadScript(field)
  const url = ({ tlsPort }: Candidate, path: string) => `https://127.0.0.1:${tlsPort}${path}`
  const over1 = (path: string, own?: string): Form['slice'] => {
    const more = own === undefined ? {} : { script: own }
    return (proxy, seconds) =>
      fullLoad(wrk, proxy.pid, {
        url: url(proxy, path),
        connections: CONNECTIONS,
        seconds,
        ...more,
      })
  }
  const over2 = (path: string, own?: string, connections = CONNECTIONS, streams = 1) => {
    const more = own === undefined ? {} : { body: own }
    const slice: Form['slice'] = (proxy, seconds) =>
      fullHttp2Load(h2load, proxy.pid, {
        url: url(proxy, path),
        connections,
        streams,
        seconds,
        headers: [RULE_HEADER],
        ...more,
      })
    return slice
  }
  return [
    { name: over('1.1', RESPONSES), rounds, slice: over1(`/body/${UPLOAD}`) },
    { name: over('2', RESPONSES), rounds, slice: over2(`/body/${UPLOAD}`) },
    { name: over('1.1', UPLOADS), rounds, slice: over1('/upload', script) },
    { name: over('2', UPLOADS), rounds, slice: over2('/upload', body) },
    { name: over('2', TURNS), rounds, slice: over2('/upload', body, CONNECTIONS / 4, 4) },
    {
      name: '1,000 streams on one connection',
      rounds,
      toNginx: 2,
      slice: over2('/', undefined, 1, 1_000),
    },
  ]
}

/** The median and range of the ratios within each round. */
function toHttp1(
  all: ReadonlyMap<string, Rounds>,
  what: string,
  own = what,
  max: number = MAX_RATIO,
): Target {
  const costs = (version: string, load: string) =>
    (all.get(over(version, load))?.get('portcullis') ?? []).map(({ user, kernel }) => user + kernel)
  const before = costs('1.1', what)
  const ratios = costs('2', own).map((cost, round) => cost / (before[round] ?? Number.NaN))
  const measured = figure(ratios).median
  const range = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`
  return {
    what: `CPU, ${own} over HTTP/2, to our own HTTP/1.1`,
    wanted: `≤ ${max} x`,
    measured: `${ratio(measured)} (${range})`,
    met: measured <= max,
  }
}
