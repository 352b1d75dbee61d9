import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Report } from '../report.ts'
import { ownConfiguration } from './configurations.ts'
import { type Field, reachable, SOURCE, settled } from './contenders.ts'
import { fullLoad, type Load } from './load.ts'
import { freePorts, pause, residentOf, start, stop } from './processes.ts'
import { hasNginx, uploadScript } from './traffic.ts'

const SECONDS = 3
/**
 * Warm-up as for the other loads: while code is compiled, V8's threads take slices of 4 ms on the
 * gateway's core, and a collection that one of them interrupts appears that long.
 */
const WARM_UP = 8
/** Milliseconds. */
const MAX_PAUSE = 5
/** Max resident MB of a worker. */
const MAX_RESIDENT = 150

const LARGE = 'responses of 1 MiB'
const LOADS: ReadonlyMap<string, Omit<Load, 'seconds'>> = new Map([
  ['small, keep-alive', { url: '/', connections: 32 }],
  [LARGE, { url: '/body/1048576', connections: 8 }],
])

interface Collections {
  readonly responses: number
  readonly scavenges: number
  readonly markCompacts: number
  /** Longest pause and sum of all pauses, in milliseconds. */
  readonly longest: number
  readonly total: number
  /** MB */
  readonly resident: number
}

/**
 * Cost of garbage collection while a gateway is under load, and its resident memory. Starts a new
 * gateway from `program` for each load.
 */
export async function benchCollections(
  field: Field,
  wrk: string,
  program: string,
): Promise<Omit<Report, 'intro'>> {
  const found = new Map<string, Collections>()
  for (const [name, load] of LOADS) found.set(name, await collect(field, wrk, program, load))
  if (hasNginx(field)) {
    const load = { url: '/upload', connections: 8, script: uploadScript(field) }
    found.set('uploads of 1 MiB', await collect(field, wrk, program, load))
  }
  const { markCompacts, responses } = found.get(LARGE) as Collections
  const perThousand = (markCompacts * 1000) / responses
  const resident = Math.max(...[...found.values()].map((each) => each.resident))
  const longest = Math.max(...[...found.values()].map((each) => each.longest))
  return {
    tables: [
      {
        title: `Garbage collections and RSS after load (${program === SOURCE ? 'source' : 'bundle'})`,
        columns: [
          'load',
          'responses',
          'scavenges',
          'mark-compacts',
          'longest pause',
          'in all',
          'RSS',
        ],
        rows: [...found].map(([name, each]) => [name, ...cellsOf(each)]),
      },
    ],
    targets: [
      {
        what: 'mark-compacts in 1,000 responses of 1 MiB',
        wanted: '< 1',
        measured: perThousand.toFixed(2),
        met: perThousand < 1,
      },
      {
        what: 'longest pause of a collection',
        wanted: `≤ ${MAX_PAUSE} ms`,
        measured: `${longest.toFixed(1)} ms`,
        met: longest <= MAX_PAUSE,
      },
      {
        what: 'RSS after load',
        wanted: `≤ ${MAX_RESIDENT} MB`,
        measured: `${resident.toFixed(0)} MB`,
        met: resident <= MAX_RESIDENT,
      },
    ],
  }
}

async function collect(
  field: Field,
  wrk: string,
  program: string,
  load: Omit<Load, 'seconds'>,
): Promise<Collections> {
  const [port = 0, tlsPort = 0] = await freePorts(2)
  const { backend, grpcBackend, certificate, key } = field
  const folder = join(field.folder, `collected-${port}`)
  mkdirSync(folder)
  const place = { folder, port, tlsPort, backend, grpcBackend, certificate, key }
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, ownConfiguration(place))
  const started = start('proxy', process.execPath, ['--trace-gc', program, 'run', '-f', file])
  await reachable(port, started)
  await settled(started.pid)
  const asked = { ...load, url: `http://127.0.0.1:${port}${load.url}` }
  await fullLoad(wrk, started.pid, { ...asked, seconds: WARM_UP })
  await pause(200)
  const before = started.output().length
  const { requests } = await fullLoad(wrk, started.pid, { ...asked, seconds: SECONDS })
  await pause(200)
  const found = read(started.output().slice(before))
  const resident = residentOf(started.pid)
  await stop(started)
  return { responses: requests, resident, ...found }
}

/** `[…] 1234 ms: Scavenge 10.1 (12.3) -> 9.8 (12.3) MB, pooled: 0 MB, 0.52 / 0.00 ms …` */
function read(text: string): Omit<Collections, 'responses' | 'resident'> {
  const lines = text.split('\n').filter((line) => /\bms: (Scavenge|Mark-Compact|Minor)/.test(line))
  const pauses = lines.map((line) =>
    Number(/, ([\d.]+) \/ [\d.]+ ms/.exec(line)?.[1] ?? Number.NaN),
  )
  const markCompacts = lines.filter((line) => line.includes('Mark-Compact')).length
  return {
    scavenges: lines.length - markCompacts,
    markCompacts,
    longest: Math.max(0, ...pauses),
    total: pauses.reduce((sum, each) => sum + each, 0),
  }
}

function cellsOf({ responses, scavenges, markCompacts, longest, total, resident }: Collections) {
  return [
    responses.toLocaleString('en-US'),
    String(scavenges),
    String(markCompacts),
    `${longest.toFixed(1)} ms`,
    `${total.toFixed(0)} ms`,
    `${resident.toFixed(0)} MB`,
  ]
}
