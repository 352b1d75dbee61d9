import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { figure } from './measure.ts'
import {
  cpuOf,
  freePorts,
  isPinned,
  pause,
  residentOf,
  type Started,
  start,
  stopAll,
} from './proxy/processes.ts'
import type { Report } from './report.ts'

const ROOT = join(import.meta.dirname, '..')
const SERVER = join(import.meta.dirname, 'mcp/server.ts')
const PEER = { name: 'mcp-proxy', version: '6.7.19' }
const ROUNDS = 3
const CALLS = Number(process.env['BENCH_CALLS'] ?? 2_000)
const SESSIONS = Number(process.env['BENCH_SESSIONS'] ?? 10_000)
/** Sessions with their own SSE stream, and with their own stdio program. */
const STREAMS = Number(process.env['BENCH_STREAMS'] ?? 2_000)
const PROGRAMS = Number(process.env['BENCH_PROGRAMS'] ?? 60)
const CONNECTIONS = 4

interface Contender {
  readonly name: string
  readonly url: string
  readonly started: Started
}

/** Cost of `tools/call` through the gateway, compared with a direct call and another proxy. */
export async function mcp(): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-mcp-bench-'))
  try {
    const { contenders, missing, sse, programs } = await startAll(folder)
    const costs = new Map<string, number[]>(contenders.map(({ name }) => [name, []]))
    for (const own of contenders) await measure(own, CALLS / 4)
    for (let round = 0; round < ROUNDS; round++) {
      for (const own of contenders) costs.get(own.name)?.push(await measure(own, CALLS))
    }
    const held = await sessions(contenders[1] as Contender)
    const streamed = await openSessions(sse, STREAMS)
    const piped = await openSessions(programs, PROGRAMS)
    const direct = figure(costs.get('server alone') ?? []).median
    const rows = contenders.map(({ name }) => {
      const all = costs.get(name) ?? []
      const own = figure(all).median
      const range = `${Math.round(Math.min(...all))}–${Math.round(Math.max(...all))}`
      return [name, String(Math.round(own)), range, (own / direct).toFixed(1)]
    })
    const pinning = isPinned ? 'The contender has a core for itself.' : 'Nothing is pinned.'
    return {
      intro: [
        `CPU time of the process and its children for each \`tools/call\`, ${CALLS} calls in each of`,
        `${ROUNDS} interleaved rounds over ${CONNECTIONS} connections, each response checked. ${pinning}`,
        'Programs on stdio are counted with the process that started them. Sessions are open at',
        'once; a session over SSE has a stream to its server, one over stdio a program, whose own',
        'memory is not counted.',
        ...missing,
      ],
      targets: [
        {
          what: `memory for each of ${SESSIONS} sessions`,
          wanted: '< 1 kB',
          measured: `${held.toFixed(2)} kB`,
          met: held < 1,
        },
        {
          what: `memory for each of ${STREAMS} sessions over SSE`,
          wanted: '< 64 kB',
          measured: `${streamed.toFixed(1)} kB`,
          met: streamed < 64,
        },
        {
          what: `memory of the gateway for each of ${PROGRAMS} sessions over stdio`,
          wanted: '< 128 kB',
          measured: `${piped.toFixed(1)} kB`,
          met: piped < 128,
        },
      ],
      tables: [{ title: 'tools/call', columns: ['', 'µs', 'range', 'of the server alone'], rows }],
    }
  } finally {
    await stopAll()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function startAll(folder: string) {
  const [server = 0, own = 0, piped = 0, other = 0, streamed = 0, small = 0] = await freePorts(6)
  const node = process.execPath
  const alone = start('proxy', node, [SERVER, 'http', String(server)])
  const config = (name: string, port: number, target: object) => {
    const file = join(folder, `${name}.json`)
    const text = {
      config: { workers: 1, adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' },
      gateways: { default: { port } },
      mcp: {
        targets: [{ name: 'b', ...target }],
        policies: { mcpAuthorization: { rules: [{ allow: "mcp.tool.name == 'echo'" }] } },
      },
    }
    writeFileSync(file, JSON.stringify(text))
    return start('proxy', node, [join(ROOT, 'bin/portcullis.ts'), 'run', '-f', file])
  }
  const at = (port: number) => `http://127.0.0.1:${port}/mcp`
  const contenders: Contender[] = [
    { name: 'server alone', url: at(server), started: alone },
    {
      name: 'Portcullis, a rule',
      url: at(own),
      started: config('http', own, { mcp: { host: `127.0.0.1:${server}` } }),
    },
    {
      name: 'Portcullis, a rule, stdio',
      url: at(piped),
      started: config('stdio', piped, { stdio: { cmd: node, args: [SERVER, 'stdio'] } }),
    },
  ]
  const peer = findPeer()
  const missing = peer.startsWith('/') ? [] : [`Without a peer: ${peer}.`]
  if (peer.startsWith('/')) {
    const args = [peer, '--port', String(other), '--host', '127.0.0.1', '--', node, SERVER, 'stdio']
    const started = start('proxy', node, args)
    contenders.push({ name: `${PEER.name} ${PEER.version}, stdio`, url: at(other), started })
  }
  const sse: Contender = {
    name: 'Portcullis, SSE',
    url: at(streamed),
    started: config('sse', streamed, { sse: { host: `127.0.0.1:${server}` } }),
  }
  const programs: Contender = {
    name: 'Portcullis, small programs',
    url: at(small),
    started: config('programs', small, { stdio: { cmd: 'sed', args: ['-u', '-E', GREETING] } }),
  }
  for (const { name, url, started } of [...contenders, sse, programs]) {
    await ready(name, url, started)
  }
  return { contenders, missing, sse, programs }
}

/** The part of a server that a handshake needs, as a small program. */
const GREETING =
  's/.*"id":([0-9]+).*/{"jsonrpc":"2.0","id":\\1,"result":{"protocolVersion":"2025-06-18",' +
  '"capabilities":{},"serverInfo":{"name":"b","version":"1"}}}/'

/** Installs the peer once and returns its path, or a message if that fails. */
function findPeer(): string {
  const folder = join(ROOT, '.cache', PEER.name)
  const program = join(folder, 'node_modules', PEER.name, 'dist/bin/mcp-proxy.mjs')
  if (existsSync(program)) return program
  mkdirSync(folder, { recursive: true })
  const args = ['install', '--prefix', folder, `${PEER.name}@${PEER.version}`]
  const { status } = spawnSync('npm', args, { encoding: 'utf8', timeout: 120_000 })
  if (status !== 0) return `npm cannot install ${PEER.name}`
  return existsSync(program) ? program : `${PEER.name} has no ${program.slice(folder.length)}`
}

async function ready(name: string, url: string, { output, child }: Started): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (child.exitCode !== null) break
    const found = await initialize(url, new Agent()).catch(() => undefined)
    if (found !== undefined) return
    await pause(100)
  }
  throw new Error(`${name} did not start: ${output()}`)
}

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  },
})

/** Returns the session ID; empty if the server does not use sessions. */
async function initialize(url: string, agent: Agent): Promise<string> {
  const { status, session, text } = await post(url, agent, INITIALIZE, '')
  if (status !== 200) throw new Error(`initialize: ${status} ${text}`)
  return session
}

/** CPU microseconds per call. */
async function measure({ url, started }: Contender, calls: number): Promise<number> {
  const agents = Array.from(
    { length: CONNECTIONS },
    () => new Agent({ keepAlive: true, maxSockets: 1 }),
  )
  const open = await Promise.all(agents.map((agent) => initialize(url, agent)))
  const before = cpuOf(started.pid)
  await Promise.all(
    agents.map(async (agent, at) => {
      for (let i = at; i < calls; i += CONNECTIONS) {
        const params = { name: 'echo', arguments: { i } }
        const message = { jsonrpc: '2.0', id: i + 1, method: 'tools/call', params }
        const { status, text } = await post(url, agent, JSON.stringify(message), open[at] ?? '')
        if (status !== 200 || !text.includes('done')) throw new Error(`${status} ${text}`)
      }
    }),
  )
  const after = cpuOf(started.pid)
  for (const agent of agents) agent.destroy()
  return ((after.user + after.kernel - before.user - before.kernel) / calls) * 1e6
}

/** Kilobytes per session, with many sessions. */
async function sessions({ url, started }: Contender): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const begin = async (count: number) => {
    for (let i = 0; i < count; i += 100) {
      await Promise.all(Array.from({ length: 100 }, () => initialize(url, agent)))
    }
  }
  // Grows the heap to its steady size before the first reading.
  await begin(SESSIONS)
  const before = residentOf(started.pid)
  await begin(SESSIONS)
  agent.destroy()
  return Math.max(0, ((residentOf(started.pid) - before) * 1_000) / SESSIONS)
}

/** The same for sessions that stay open, without the memory of the programs behind them. */
async function openSessions({ url, started }: Contender, count: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const begin = async (some: number) => {
    const ids: string[] = []
    for (let i = 0; i < some; i += 20) {
      const batch = Array.from({ length: Math.min(20, some - i) }, () => initialize(url, agent))
      ids.push(...(await Promise.all(batch)))
    }
    return ids
  }
  // Warms up the code that opens sessions, and grows the heap to its steady size.
  const first = await begin(count)
  await Promise.all(first.map((id) => end(url, agent, id)))
  await pause(1_000)
  const before = ownResident(started.pid)
  await begin(count)
  await pause(1_000)
  const after = ownResident(started.pid)
  agent.destroy()
  return Math.max(0, ((after - before) * 1_000) / count)
}

/** Resident memory of the gateway in MB, without its children. */
function ownResident(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return (Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1_024) / 1e6
}

function end(url: string, agent: Agent, session: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'mcp-session-id': session }
    const sent = request(url, { method: 'DELETE', agent, headers }, (response) => {
      response.resume().on('end', resolve)
    })
    sent.on('error', reject)
    sent.end()
  })
}

interface Posted {
  readonly status: number
  readonly session: string
  readonly text: string
}

function post(url: string, agent: Agent, body: string, session: string): Promise<Posted> {
  return new Promise((resolve, reject) => {
    const own = session === '' ? {} : { 'mcp-session-id': session }
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'content-length': Buffer.byteLength(body),
      ...own,
    }
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      })
      response.on('end', () => {
        const { statusCode = 0, headers: got } = response
        resolve({ status: statusCode, session: String(got['mcp-session-id'] ?? ''), text })
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
