import { connect, type Socket } from 'node:net'
import type { Steadiness, SteadyLoad } from './load.ts'

/*
 * A process of its own. Each turn of a timer sends what is due by then; a response's latency counts
 * from that turn, time spent waiting for a free connection included. What the timer itself is late
 * is the client's fault, and does not count.
 */

const load: SteadyLoad = JSON.parse(process.argv[2] ?? '{}')
const REQUEST = `GET ${load.path} HTTP/1.1\r\nhost: ${load.host}\r\n${load.header}\r\n\r\n`
/** The first responses meet cold code and connections to be opened. */
const WARM_UP = load.untilFound ? 0 : Math.min(500, load.milliseconds / 4)

class Line {
  readonly #socket: Socket
  #received = ''
  sentAt = -1

  constructor() {
    this.#socket = connect({ port: load.port, host: '127.0.0.1', noDelay: true })
    this.#socket.setEncoding('latin1')
    this.#socket.on('data', (text) => this.#receive(String(text)))
    this.#socket.on('error', () => this.#socket.destroy())
    this.#socket.on('close', () => this.#lost())
  }

  send(at: number): void {
    this.sentAt = at
    this.#socket.write(REQUEST, 'latin1')
  }

  close(): void {
    this.#socket.removeAllListeners('close').destroy()
  }

  #receive(text: string): void {
    this.#received += text
    const end = this.#received.indexOf('\r\n\r\n')
    if (end < 0) return
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(this.#received)?.[1] ?? 0)
    if (this.#received.length < end + 4 + length) return
    const status = Number(this.#received.slice(9, 12))
    this.#received = ''
    const { sentAt } = this
    this.sentAt = -1
    responded(status, sentAt)
    free(this)
  }

  #lost(): void {
    if (this.sentAt >= 0) failed++
    if (isOver) return
    const next = new Line()
    lines.splice(lines.indexOf(this), 1, next)
    free(next)
  }
}

const latencies: number[] = []
const lines = Array.from({ length: load.connections }, () => new Line())
const idle = [...lines]
const waiting: number[] = []
const startedAt = performance.now()
let sent = 0
let failed = 0
let foundAt = 0
let isOver = false

const timer = setInterval(turn, 1)

function turn(): void {
  const now = performance.now()
  if (now - startedAt >= load.milliseconds) {
    finish()
    return
  }
  const due = Math.floor(((now - startedAt) * load.perSecond) / 1000)
  for (; sent < due; sent++) {
    const line = idle.pop()
    if (line === undefined) waiting.push(now)
    else line.send(now)
  }
}

function free(line: Line): void {
  const since = waiting.shift()
  if (since === undefined) idle.push(line)
  else line.send(since)
}

function responded(status: number, sentAt: number): void {
  const now = performance.now()
  if (status === 200 && foundAt === 0) foundAt = Date.now()
  if (status !== 200) failed++
  if (sentAt - startedAt >= WARM_UP) latencies.push(now - sentAt)
  if (load.untilFound && foundAt > 0) finish()
}

function finish(): void {
  if (isOver) return
  isOver = true
  clearInterval(timer)
  // What has no response yet took at least so long.
  const now = performance.now()
  for (const { sentAt } of lines) if (sentAt >= 0 && !load.untilFound) latencies.push(now - sentAt)
  const sorted = latencies.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0
  const found: Steadiness = {
    responses: sorted.length,
    failed: failed + waiting.length,
    p50: at(0.5),
    p99: at(0.99),
    longest: at(1),
    foundAt,
  }
  for (const line of lines) line.close()
  process.stdout.write(JSON.stringify(found), () => process.exit(0))
}
