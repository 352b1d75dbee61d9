import { connect, type Socket } from 'node:net'
import type { Steadiness, SteadyLoad } from './load.ts'

/*
 * A separate process that runs one load after the other. Each timer tick sends the requests that
 * are due; the latency of a response counts from that tick, including the wait for a free
 * connection. Delays of the timer itself are the client's and do not count.
 */

class Line {
  readonly #load: Running
  readonly #socket: Socket
  #received = ''
  sentAt = -1

  constructor(load: Running) {
    this.#load = load
    this.#socket = connect({ port: load.port, host: '127.0.0.1', noDelay: true })
    this.#socket.setEncoding('latin1')
    this.#socket.on('data', (text) => this.#receive(String(text)))
    this.#socket.on('error', () => this.#socket.destroy())
    this.#socket.on('close', () => load.lost(this))
  }

  send(at: number): void {
    this.sentAt = at
    this.#socket.write(this.#load.request, 'latin1')
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
    this.#load.responded(status, sentAt)
    this.#load.free(this)
  }
}

class Running {
  readonly port: number
  readonly request: string
  readonly over: Promise<Steadiness>
  readonly #load: SteadyLoad
  /** Start of the measurement: earlier responses include cold code and new connections. */
  readonly #countsFrom: number
  readonly #startedAt = performance.now()
  readonly #latencies: number[] = []
  readonly #lines: Line[]
  readonly #idle: Line[]
  readonly #waiting: number[] = []
  readonly #timer: NodeJS.Timeout
  readonly #finished: (found: Steadiness) => void
  #sent = 0
  #failed = 0
  #foundAt = 0
  #isOver = false

  constructor(load: SteadyLoad) {
    this.port = load.port
    this.request = `GET ${load.path} HTTP/1.1\r\nhost: ${load.host}\r\n${load.header}\r\n\r\n`
    this.#load = load
    const warmUp = load.untilFound ? 0 : Math.min(500, load.milliseconds / 4)
    this.#countsFrom = this.#startedAt + warmUp
    this.#lines = Array.from({ length: load.connections }, () => new Line(this))
    this.#idle = [...this.#lines]
    const { promise, resolve } = Promise.withResolvers<Steadiness>()
    this.over = promise
    this.#finished = resolve
    this.#timer = setInterval(() => this.#turn(), 1)
  }

  #turn(): void {
    const now = performance.now()
    const { milliseconds, perSecond } = this.#load
    if (now - this.#startedAt >= milliseconds) {
      this.#finish()
      return
    }
    const due = Math.floor(((now - this.#startedAt) * perSecond) / 1000)
    for (; this.#sent < due; this.#sent++) {
      const line = this.#idle.pop()
      if (line === undefined) this.#waiting.push(now)
      else line.send(now)
    }
  }

  free(line: Line): void {
    const since = this.#waiting.shift()
    if (since === undefined) this.#idle.push(line)
    else line.send(since)
  }

  responded(status: number, sentAt: number): void {
    const now = performance.now()
    if (status === 200 && this.#foundAt === 0) this.#foundAt = Date.now()
    if (status !== 200) this.#failed++
    if (sentAt >= this.#countsFrom) this.#latencies.push(now - sentAt)
    if (this.#load.untilFound && this.#foundAt > 0) this.#finish()
  }

  lost(line: Line): void {
    if (line.sentAt >= 0) this.#failed++
    if (this.#isOver) return
    const next = new Line(this)
    this.#lines.splice(this.#lines.indexOf(line), 1, next)
    this.free(next)
  }

  #finish(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearInterval(this.#timer)
    // Requests without a response so far took at least this long.
    const now = performance.now()
    const latencies = this.#latencies
    for (const { sentAt } of this.#lines) {
      if (sentAt >= 0 && !this.#load.untilFound) latencies.push(now - sentAt)
    }
    const sorted = latencies.toSorted((a, b) => a - b)
    const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0
    for (const line of this.#lines) line.close()
    this.#finished({
      responses: sorted.length,
      failed: this.#failed + this.#waiting.length,
      p50: at(0.5),
      p99: at(0.99),
      longest: at(1),
      foundAt: this.#foundAt,
    })
  }
}

const found: Steadiness[] = []
for (const load of JSON.parse(process.argv[2] ?? '[]') as SteadyLoad[]) {
  found.push(await new Running(load).over)
}
process.stdout.write(JSON.stringify(found), () => process.exit(0))
