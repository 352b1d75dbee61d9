import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { free } from '../proxy/accepting.ts'
import { listen } from '../proxy/harness.ts'
import { type Running, recordsIn, startRunning } from '../proxy/running.ts'
import { workersOf } from '../proxy/worker-processes.ts'

/*
 * QUIET_GATEWAYS (2) gateways, every second one with two workers, get traffic that comes and goes
 * for QUIET_SECONDS (30): pulses of small requests on one connection, then silence that is long
 * enough for V8 to collect and shrink an idle heap. No process may end, and no request may fail.
 * Ends with a line of counts, like the test suites.
 */

const SECONDS = Number(process.env['QUIET_SECONDS'] ?? 30)
const GATEWAYS = Number(process.env['QUIET_GATEWAYS'] ?? 2)
const PULSE = 1_200
/** V8 waits for 8 s after traffic has calmed down before it shrinks the heap. */
const MIN_SILENCE = 8_000
const MAX_SILENCE = 12_000
/** Milliseconds that a response may take on a busy machine. */
const TIMEOUT_MS = 60_000
const REQUEST = 'GET /small HTTP/1.1\r\nhost: x\r\n\r\n'

let passed = 0
let failed = 0

function check(what: string, isSo: boolean, detail: string): void {
  if (isSo) passed++
  else failed++
  console.log(`${isSo ? 'passed' : 'failed'}: ${what} (${detail})`)
}

/** Sends a request and reads its response; throws if it is not a whole 200. */
function request(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = ''
    const settle = (error?: string) => {
      socket.off('data', read).off('close', closed)
      clearTimeout(timer)
      if (error === undefined) resolve()
      else reject(new Error(error))
    }
    const closed = () => settle(`the connection closed after ${JSON.stringify(text)}`)
    const read = (bytes: Buffer) => {
      text += bytes.toString('latin1')
      if (!text.endsWith('\r\n\r\nsmall')) return
      settle(text.startsWith('HTTP/1.1 200 ') ? undefined : JSON.stringify(text))
    }
    const timer = setTimeout(() => settle('no response in time'), TIMEOUT_MS)
    socket.on('data', read).on('close', closed)
    socket.write(REQUEST)
  })
}

/** Sends the requests of one pulse, one after the other; resolves to the number of responses. */
async function pulse(port: number): Promise<number> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true }).on('error', () => {})
  try {
    for (let sent = 0; sent < PULSE; sent++) await request(socket)
    return PULSE
  } finally {
    socket.destroy()
  }
}

const silence = () => wait(MIN_SILENCE + Math.random() * (MAX_SILENCE - MIN_SILENCE))

async function watch(running: Running, port: number, number: number, until: number) {
  const name = `gateway ${number}`
  const processes = () => [running.pid, ...workersOf(running.pid)].join()
  const before = processes()
  let [pulses, responses, error] = [0, 0, '']
  while (performance.now() < until && error === '') {
    try {
      responses += await pulse(port)
      pulses++
    } catch (cause) {
      error = String(cause)
    }
    await silence()
  }
  check(`${name} responded each request`, error === '', error || `${responses} in ${pulses} pulses`)
  const { exitCode, signalCode } = running.child
  const isRunning = exitCode === null && signalCode === null
  const now = isRunning ? processes() : `ended: ${signalCode ?? exitCode}`
  const exits = recordsIn(running.out()).filter(({ scope }) => scope === 'worker')
  const detail = isRunning ? JSON.stringify(exits) : running.out().slice(-4_000)
  check(`${name} kept its processes`, now === before, now === before ? now : `${now} ${detail}`)
}

const backend = createServer((_, response) => response.end('small'))
const backendPort = await listen(backend)
const gateways: { readonly running: Running; readonly port: number }[] = []
try {
  // One after the other: starts are not what is tested.
  for (let number = 0; number < GATEWAYS; number++) {
    const port = await free()
    const text = `frontendPolicies: { accessLog: { filter: 'false' } }
gateways: { default: { port: ${port} } }
routes: [{ name: all, backends: [{ host: 127.0.0.1:${backendPort} }] }]
`
    const running = await startRunning(text, { workers: 1 + (number % 2) })
    gateways.push({ running, port })
  }
  const until = performance.now() + SECONDS * 1_000
  await Promise.all(gateways.map(({ running, port }, at) => watch(running, port, at, until)))
} catch (error) {
  failed++
  console.log(`failed: ${error instanceof Error ? error.stack : error}`)
} finally {
  await Promise.all(gateways.map(({ running }) => running.stop()))
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
