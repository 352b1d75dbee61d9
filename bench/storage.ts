import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { startGateway } from '../test/storage/gateways.ts'
import { SKIPPED, startServer } from '../test/storage/postgres.ts'

/** Edits until two replicas enforce them, and a start with many stored resources. */
const EDITS = Number(process.env['EDITS'] ?? 100)
const STORED = Number(process.env['STORED'] ?? 10_000)

if (SKIPPED !== false) {
  console.log(SKIPPED)
  process.exit(0)
}
const server = await startServer()
try {
  await measureEdits(await server.database())
  await measureStart(await server.database())
} finally {
  await server.remove()
}

async function measureEdits(url: string): Promise<void> {
  const gateways = await Promise.all([startGateway(url), startGateway(url)])
  const [first] = gateways
  const times: number[] = []
  for (let edit = 0; edit < EDITS; edit++) {
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
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(share * times.length))]
  console.log(
    `edit → enforced on two replicas: p50 ${at(0.5)?.toFixed(0)} ms, p99 ${at(0.99)?.toFixed(0)} ms (${EDITS} edits)`,
  )
}

async function measureStart(url: string): Promise<void> {
  const maker = await startGateway(url)
  await maker.remove()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query("insert into portcullis_changes values (1, 'import', 'bench', '')")
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
  console.log(`start with ${STORED} stored resources: ${seconds.toFixed(2)} s`)
  await gateway.remove()
}
