import { createServer, type Server, type ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { free } from '../proxy/accepting.ts'
import { listen } from '../proxy/harness.ts'
import { type Running, startRunning, sumOf } from '../proxy/running.ts'
import { startWebSocketPeer } from '../proxy/websocket-peer.ts'
import { until } from '../proxy/whole-gateway.ts'
import { makeAuthority } from '../tls/certificates.ts'
import { type Flatness, flatnessOf, type Sample } from './flatness.ts'
import { INSPECTED, liveMemoryOf } from './live-memory.ts'
import { serveModel, serveTools } from './model-and-tools.ts'
import { type Ports, startTraffic, type Tally } from './traffic.ts'

/*
 * Runs mixed traffic for SOAK_SECONDS (600). What is left after collections must be flat after a
 * warm-up, in long runs resident memory too; every response must be correct, and all resources must
 * be released once the clients disconnect. Ends with a line of counts, like the test suites.
 */

const SECONDS = Number(process.env['SOAK_SECONDS'] ?? 600)
const WARM_UP = SECONDS * 0.3
const RELOAD_EVERY = 10
/** Seconds after which V8's heap has the size that this traffic gives it. */
const LONG = 300

let passed = 0
let failed = 0

function check(what: string, isSo: boolean, detail: string): void {
  if (isSo) passed++
  else failed++
  console.log(`${isSo ? 'passed' : 'failed'}: ${what} (${detail})`)
}

async function soak(running: Running, ports: Ports, config: (turn: number) => string) {
  const startedAt = performance.now()
  const elapsed = () => (performance.now() - startedAt) / 1000
  const isOver = () => elapsed() > SECONDS
  const tally: Tally = { counts: new Map(), wrong: [] }
  const idle = running.descriptors()
  const traffic = startTraffic(ports, tally, isOver)
  const live = await liveMemoryOf(running)
  const liveSamples: Sample[] = []
  const residentSamples: Sample[] = []
  for (let turn = 1; !isOver(); turn++) {
    for (let i = 0; i < RELOAD_EVERY && !isOver(); i++) {
      await wait(1_000)
      if (elapsed() > WARM_UP)
        residentSamples.push({ seconds: elapsed(), bytes: running.resident() })
    }
    if (elapsed() > WARM_UP) {
      const bytes = await live.bytes()
      liveSamples.push({ seconds: elapsed(), bytes })
    }
    if (!isOver()) await running.reload(config(turn))
  }
  await traffic
  const counts = [...tally.counts].map(([kind, count]) => `${kind} ${count}`).join(', ')
  check('every response was right', tally.wrong.length === 0, tally.wrong.join('; ') || counts)
  live.close()
  const memory = flatnessOf(liveSamples)
  check('what is left after collections is flat', memory.isFlat, renderFlatness(memory))
  const resident = flatnessOf(residentSamples)
  const isLong = SECONDS >= LONG
  check('resident memory is flat', resident.isFlat || !isLong, renderFlatness(resident))
  await until('requests to end', async () => {
    return sumOf(await running.metrics(), 'portcullis_requests_active') === 0
  })
  passed++
  await until('descriptors to be back', () => running.descriptors() <= idle + 30)
  passed++
}

function renderFlatness({ median, growth, rise }: Flatness): string {
  const mb = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MB`
  return `median ${mb(median)}, slope ${mb(growth)}, floor ${mb(rise)}`
}

const responses = new Set<ServerResponse>()

function startBackend(): Server {
  let event = 0
  setInterval(() => {
    event++
    for (const response of responses) response.write(`data: ${event}\n\n`)
  }, 200).unref()
  return createServer((request, response) => {
    if (request.url === '/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      responses.add(response)
      response.on('close', () => responses.delete(response))
    } else if (request.url === '/chunks') {
      for (let i = 0; i < 10; i++) response.write(`chunk ${i}\n`)
      response.end()
    } else if (request.url === '/v1/chat/completions') serveModel(request, response)
    else if (request.url === '/mcp') serveTools(request, response)
    else if (request.url === '/large') response.end(Buffer.alloc(1 << 20))
    else {
      let byteCount = 0
      request.on('data', (bytes) => (byteCount += bytes.length))
      request.on('end', () => response.end(String(byteCount)))
    }
  })
}

const backend = startBackend()
const peer = await startWebSocketPeer()
const own = await listen(backend)
const [plain, secured] = await Promise.all([free(), free()])
const { cert, key } = makeAuthority('soak').issue({ names: ['IP:127.0.0.1'] })
const inline = (text: string) => `{ inline: ${JSON.stringify(text)} }`
const config = (turn: number) => `frontendPolicies: { accessLog: { filter: 'false' } }
gateways:
  plain: { port: ${plain} }
  secured: { port: ${secured}, tls: { cert: ${inline(cert)}, key: ${inline(key)} } }
routes:
- name: sockets
  gateways: [plain]
  matches: [{ path: { exact: /socket } }]
  backends: [{ host: 127.0.0.1:${peer.port} }]
- name: turn-${turn}
  gateways: [plain]
  matches: [{ path: { exact: /turn-${turn} } }]
  backends: [{ host: 127.0.0.1:${own} }]
- name: models
  gateways: [plain]
  matches: [{ path: { exact: /v1/chat/completions } }]
  backends: [{ backend: models }]
- name: tools
  gateways: [plain]
  matches: [{ path: { exact: /mcp } }]
  backends: [{ backend: tools }]
- name: all
  gateways: [plain, secured]
  policies:
    authorization: { rules: [{ deny: "request.path == '/denied'" }] }
    requestHeaders: { set: { x-turn: '${turn}' } }
    localRateLimit: { requests: 1000000, unit: Seconds, key: request.path }
  backends: [{ host: 127.0.0.1:${own} }]
backends:
- name: models
  ai: { name: own, hostOverride: 127.0.0.1:${own}, provider: { openAI: {} } }
  policies: { authorization: { rules: [{ allow: "llm.requestModel == 'm'" }] } }
- name: tools
  mcp: { targets: [{ name: own, mcp: { host: 127.0.0.1:${own} } }] }
  policies: { mcpAuthorization: { rules: [{ allow: "mcp.tool.name == 'echo'" }] } }
`
const running = await startRunning(config(0), { flags: [INSPECTED] })
try {
  await soak(running, { plain, secured }, config)
} catch (error) {
  failed++
  console.log(`failed: ${error instanceof Error ? error.stack : error}`)
} finally {
  await running.stop()
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
