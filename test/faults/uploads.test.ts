import assert from 'node:assert/strict'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import { after, before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { free } from '../proxy/accepting.ts'
import { startWhole, type WholeGateway } from '../proxy/whole-gateway.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { fill, randomOf } from './patterns.ts'
import { startUploadBackend, type Upload, type UploadBackend } from './upload-backend.ts'

/*
 * Uploads over many concurrent HTTP/2 streams, in cleartext and over TLS, to fast and slow
 * backends, aborted by clients and backends, with all kinds of windows: each upload ends, and is
 * complete unless it was aborted. UPLOADS sets their number, and UPLOADS_SEED their random seed.
 */

const COUNT = Number(process.env['UPLOADS'] ?? 400)
const SEED = Number(process.env['UPLOADS_SEED'] ?? 1)
/** Concurrent uploads of one connection: more than its window has room for. */
const AT_ONCE = 7
/** Milliseconds without a byte anywhere after which the test counts as stalled. */
const STALL = 60_000

/** The windows that a listener grants its clients: for one body, and for the whole connection. */
const WINDOWS = [
  ['262144', '1048576'],
  ['65535', '65535'],
  ['100000', '150000'],
  ['1048576', '1048576'],
] as const

const ROUTES = ['quick', 'few', 'h2'] as const

describe('uploads over HTTP/2', { skip: WITHOUT_OPENSSL }, () => {
  const uploads = uploadsOf(SEED, COUNT)
  const faults: string[] = []
  const pending = new Set<number>()
  const gateways: WholeGateway[] = []
  const backends: UploadBackend[] = []
  const targets: string[] = []
  let moved = 0

  before(async () => {
    const events = {
      moved: (bytes: number) => {
        moved += bytes
      },
      wrong: (fault: string) => void faults.push(fault),
    }
    const h1 = await startUploadBackend(uploads, 'h1', events)
    const h2 = await startUploadBackend(uploads, 'h2', events)
    backends.push(h1, h2)
    const { cert, key } = makeAuthority('uploads').issue({ names: ['IP:127.0.0.1'] })
    const inline = (text: string) => `{ inline: ${JSON.stringify(text)} }`
    for (const [window, ofConnection] of WINDOWS) {
      const [plain, secured] = await Promise.all([free(), free()])
      targets.push(`http://127.0.0.1:${plain}`, `https://127.0.0.1:${secured}`)
      gateways.push(
        await startWhole(`config: { backend: { connectTimeout: 300s } }
frontendPolicies:
  accessLog: { enabled: false }
  http:
    http2WindowSize: ${window}
    http2ConnectionWindowSize: ${ofConnection}
    # Here clients give up all the time.
    http2MaxResetsPerSecond: 100000
    bodyTimeout: 300s
gateways:
  plain: { port: ${plain} }
  secured: { port: ${secured}, tls: { cert: ${inline(cert)}, key: ${inline(key)} } }
routes:
- name: few
  gateways: [plain, secured]
  matches: [{ path: { pathPrefix: /few } }]
  backends:
  - host: 127.0.0.1:${h1.port}
    policies: { connectionLimits: { maxConnections: 2 } }
- name: h2
  gateways: [plain, secured]
  matches: [{ path: { pathPrefix: /h2 } }]
  backends: [{ host: '127.0.0.1:${h2.port}', policies: { http: { version: HTTP2 } } }]
- name: quick
  gateways: [plain, secured]
  backends: [{ host: '127.0.0.1:${h1.port}' }]
`),
      )
    }
  })
  after(async () => {
    for (const backend of backends) backend.close()
    for (const gateway of gateways) await gateway.stop()
  })

  it('each upload ends, and is complete unless it was aborted', async () => {
    let next = 0
    let isOver = false
    const clients = targets.map(async (target, at) => {
      const random = randomOf(SEED * 31 + at)
      const session = new Session(target, random)
      const work = async () => {
        while (next < uploads.length && !isOver) {
          const upload = uploads[next++] as Upload
          pending.add(upload.id)
          const route = ROUTES[random(ROUTES.length)] as string
          const outcome = await session.send(upload, `/${route}/${upload.id}`)
          pending.delete(upload.id)
          moved++
          const fault = faultOf(upload, outcome)
          if (fault !== undefined) faults.push(`${target}/${route}: ${fault}`)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, work))
      session.close()
    })
    const { stalled, stop } = watchProgress(() => moved)
    try {
      await Promise.race([Promise.all(clients), stalled])
    } finally {
      isOver = true
      stop()
    }
    const open = [...pending].map((id) => JSON.stringify(uploads[id]))
    assert.deepEqual([...faults, ...open], [], `UPLOADS_SEED=${SEED}, ${moved} bytes`)
  })
})

/** `stalled` resolves once nothing has moved for STALL milliseconds. */
function watchProgress(progress: () => number) {
  let [seen, at] = [-1, performance.now()]
  let timer: NodeJS.Timeout | undefined
  const stalled = new Promise<void>((resolve) => {
    timer = setInterval(() => {
      const now = performance.now()
      if (progress() !== seen) [seen, at] = [progress(), now]
      else if (now - at > STALL) resolve()
    }, 1_000)
  })
  return { stalled, stop: () => clearInterval(timer) }
}

/** What a client saw of an upload. */
interface Outcome {
  readonly status: number
  readonly body: string
  /** The client aborted the upload or its connection. */
  readonly isCut: boolean
}

function faultOf(upload: Upload, { status, body, isCut }: Outcome): string | undefined {
  const { id, length, closesAt, repliesAt } = upload
  const seen = `${JSON.stringify(upload)}: ${status} ${body}`
  const isReply = status === 200 && body.startsWith(`${id} `)
  if (isReply && repliesAt < 0 && body !== `${id} ${length}`) return seen
  if (isReply || isCut) return undefined
  // The gateway sends 502 if the response has not started.
  return closesAt >= 0 && (status === 502 || status === 0) ? undefined : seen
}

/** A client's connection, which is reopened if it was closed. */
class Session {
  readonly #target: string
  readonly #random: (below: number) => number
  #session: ClientHttp2Session | undefined

  constructor(target: string, random: (below: number) => number) {
    this.#target = target
    this.#random = random
  }

  close(): void {
    this.#session?.destroy()
  }

  get #open(): ClientHttp2Session {
    if (this.#session !== undefined && !this.#session.destroyed && !this.#session.closed)
      return this.#session
    const window = [0x7fff_ffff, 65_535, 1_000][this.#random(3)] as number
    const settings = { initialWindowSize: window }
    const session = connect(this.#target, { rejectUnauthorized: false, settings })
    session.on('error', () => {})
    this.#session = session
    return session
  }

  send(upload: Upload, path: string): Promise<Outcome> {
    const { length, isOpenEnded } = upload
    const session = this.#open
    const fields = isOpenEnded ? {} : { 'content-length': length }
    const stream = session.request({ ':method': 'POST', ':path': path, ...fields })
    let [status, body, isCut] = [0, '', false]
    stream.on('response', (headers) => {
      status = Number(headers[':status'])
    })
    stream.on('data', (bytes: Buffer) => {
      body += bytes
    })
    stream.on('error', () => {})
    const cut = () => {
      isCut = true
      // Some clients abort with all requests in flight. In Node, closing one stream ends it before
      // it resets it: without a length, the peer could not detect that it is incomplete.
      if (isOpenEnded || this.#random(6) === 0) session.destroy()
      else stream.close(constants.NGHTTP2_CANCEL)
    }
    void write(stream, upload, cut)
    return new Promise((resolve) =>
      stream.on('close', () => resolve({ status, body, isCut: isCut || session.destroyed })),
    )
  }
}

async function write(stream: ClientHttp2Stream, upload: Upload, cut: () => void): Promise<void> {
  const { seed, length, piece, cutAt } = upload
  const random = randomOf(seed + 5)
  for (let at = 0; at < length && !stream.destroyed && stream.writable; ) {
    const size = Math.min(length - at, 1 + random(piece))
    if (!stream.write(fill(seed, at, size))) await drained(stream)
    else if (random(3) === 0) await turn()
    at += size
    if (cutAt >= 0 && at >= cutAt) {
      cut()
      return
    }
  }
  if (stream.writable) stream.end()
}

/** Resolves on drain or close. */
function drained(stream: ClientHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done)
      stream.off('close', done)
      resolve()
    }
    stream.on('drain', done)
    stream.on('close', done)
  })
}

function uploadsOf(seed: number, count: number): readonly Upload[] {
  const random = randomOf(seed * 7_919)
  return Array.from({ length: count }, (_, id) => {
    const length = [0, random(100), random(70_000), random(400_000), 500_000 + random(1_500_000)][
      random(20) === 0 ? 4 : random(4)
    ] as number
    const somewhere = (every: number) => (random(every) === 0 ? random(length + 1) : -1)
    const closesAt = somewhere(12)
    const repliesAt = somewhere(12)
    return {
      id,
      seed: random(1 << 30),
      length,
      isOpenEnded: random(3) === 0,
      piece: [300_000, 60_000, 3_000, 30][random(length > 20_000 ? 3 : 4)] as number,
      cutAt: somewhere(8),
      closesAt,
      // After a complete response, the connection may carry the next request when it is closed.
      repliesAt: closesAt < 0 ? repliesAt : -1,
      idleness: random(3) === 0 ? 1 + random(6) : 0,
    }
  })
}
