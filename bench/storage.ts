import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { type StoredGateway, startGateway } from '../test/storage/gateways.ts'
import { SKIPPED, startServer, type TestServer } from '../test/storage/postgres.ts'
import type { Report } from './report.ts'

const EDITS = Number(process.env['EDITS'] ?? 300)
/** The same with many resources stored. */
const EDITS_AMONG = Number(process.env['EDITS_AMONG'] ?? 100)
const STORED = Number(process.env['STORED'] ?? 10_000)
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 9)
/** Requests per round and gateway. */
const REQUESTS = 10_000
const CONNECTIONS = 32

/** Edits until two replicas enforce them, a start with many edits, and cost of a request. */
export async function storage(): Promise<Report> {
  if (SKIPPED !== false) return { intro: [SKIPPED], tables: [], targets: [] }
  const server = await startServer()
  try {
    const edits = await measureEdits(await server.database(), EDITS)
    const many = await server.database()
    const start = await measureStart(server, many)
    const editsAmong = await measureEdits(many, EDITS_AMONG)
    const shares = await measureRequests(await server.database())
    const [p50, p99] = [at(edits, 0.5), at(edits, 0.99)]
    const more = (at(shares, 0.5) - 1) * 100
    const least = ((shares[0] as number) - 1) * 100
    const most = ((shares.at(-1) as number) - 1) * 100
    return {
      intro: [
        'Gateways with one worker each from the source, and PostgreSQL on the same machine. An edit is',
        'a PUT to one replica, timed until both respond by it. The start has routes with a rule and a',
        'backend each. CPU time per request is that of a gateway in database mode, compared with one',
        `in readonly mode in ${ROUNDS} rounds of ${REQUESTS} requests.`,
      ],
      tables: [
        {
          title: 'Storage',
          columns: ['', 'measured'],
          rows: [
            [`edit → enforced on two replicas, p50 of ${EDITS}`, `${p50.toFixed(0)} ms`],
            [`edit → enforced on two replicas, p99 of ${EDITS}`, `${p99.toFixed(0)} ms`],
            [
              `the same with ${STORED} stored resources, p50 of ${EDITS_AMONG}`,
              `${at(editsAmong, 0.5).toFixed(0)} ms`,
            ],
            [
              `the same with ${STORED} stored resources, p99 of ${EDITS_AMONG}`,
              `${at(editsAmong, 0.99).toFixed(0)} ms`,
            ],
            [`start with ${STORED} stored resources`, `${start.seconds.toFixed(2)} s`],
            ['its CPU time', `${start.cpu.toFixed(2)} s`],
            ['CPU time per request, lowest round', `${least.toFixed(1)} %`],
            ['CPU time per request, highest round', `${most.toFixed(1)} %`],
          ],
        },
      ],
      targets: [
        {
          what: 'edit → enforced, p99',
          wanted: '≤ 150 ms',
          measured: `${p99.toFixed(0)} ms`,
          met: p99 <= 150,
        },
        {
          what: `start with ${STORED} stored resources`,
          wanted: '< 3 s',
          measured: `${start.seconds.toFixed(2)} s`,
          met: start.seconds < 3,
        },
        {
          what: 'CPU time per request beside readonly mode, median',
          wanted: '≤ 3 %',
          measured: `${more.toFixed(1)} %`,
          met: more <= 3,
        },
      ],
    }
  } finally {
    await server.remove()
  }
}

/** The nearest-rank quantile. */
function at(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] as number
}

/** Sorted milliseconds until an edit is enforced. */
async function measureEdits(url: string, count: number): Promise<readonly number[]> {
  const gateways = await Promise.all([startGateway(url), startGateway(url)])
  const [first] = gateways
  const times: number[] = []
  for (let edit = 0; edit < count; edit++) {
    const status = 200 + (edit % 2)
    const value = {
      name: 'edited',
      matches: [{ path: { exact: '/edited' } }],
      policies: { directResponse: { status } },
    }
    const started = performance.now()
    const more = edit === 0 ? {} : { 'if-match': '*' }
    const reply = await first?.api('PUT', '/config/resources/routes/edited', value, more)
    if (reply?.status !== 200) throw new Error(reply?.text)
    await Promise.all(
      gateways.map(async (one) => {
        while ((await one.get('/edited')) !== status) await wait(2)
      }),
    )
    times.push(performance.now() - started)
  }
  await Promise.all(gateways.map((one) => one.remove()))
  return times.sort((a, b) => a - b)
}

async function measureStart(server: TestServer, url: string) {
  const maker = await startGateway(url)
  await maker.remove()
  await server.query("insert into portcullis_changes values (1, 'import', 'bench', '')", [], url)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(
    `insert into portcullis_resources
     select 'routes', 'route-' || n, 1, 'set', json_build_object(
       'name', 'route-' || n,
       'matches', json_build_array(json_build_object('path', json_build_object('pathPrefix', '/r' || n))),
       'policies', json_build_object('authorization', json_build_object('rules', json_build_array(
         json_build_object('allow', 'request.headers["x-team"] == "' || n || '"')))),
       'backends', json_build_array(json_build_object('host', 'b' || (n % 100) || ':80'))),
       null, 1 from generate_series(1, $1) as n`,
    [STORED],
  )
  await client.end()
  const started = performance.now()
  const gateway = await startGateway(url)
  const seconds = (performance.now() - started) / 1_000
  const cpu = cpuOf(gateway)
  await gateway.remove()
  return { seconds, cpu }
}

/** Sorted per-round ratios of CPU time per request, database mode to readonly mode. */
async function measureRequests(url: string): Promise<readonly number[]> {
  const [stored, readonly] = await Promise.all([startGateway(url), startGateway(undefined)])
  const shares: number[] = []
  for (let round = -1; round < ROUNDS; round++) {
    const pair = round % 2 === 0 ? [stored, readonly] : [readonly, stored]
    const spent = new Map<StoredGateway, number>()
    for (const gateway of pair) {
      const before = cpuOf(gateway)
      await sendMany(gateway.port)
      spent.set(gateway, cpuOf(gateway) - before)
    }
    // The first round warms up both.
    if (round >= 0) shares.push((spent.get(stored) ?? 0) / (spent.get(readonly) ?? 1))
  }
  await Promise.all([stored.remove(), readonly.remove()])
  return shares.sort((a, b) => a - b)
}

async function sendMany(port: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  let left = REQUESTS
  const client = async () => {
    while (left-- > 0) {
      await new Promise<void>((resolve, reject) => {
        request({ port, host: '127.0.0.1', path: '/home', agent }, (response) => {
          response.resume().once('end', resolve)
        })
          .once('error', reject)
          .end()
      })
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, client))
  agent.destroy()
}

/** CPU seconds of all threads of the process. */
function cpuOf({ child }: StoredGateway): number {
  const text = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}
