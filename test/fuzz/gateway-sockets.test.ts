import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { corpusOf, recordFind } from '../corpus/corpus.ts'
import { free } from '../proxy/accepting.ts'
import { type RawUpstream, startUpstream } from '../proxy/harness.ts'
import { startWhole, until, type WholeGateway } from '../proxy/whole-gateway.ts'
import { type PlainSeen, plainExchanges, plainReceived } from './exchange.plain.ts'
import { mutated, mutatedRequest, portions } from './http1-messages.ts'
import { fuzz } from './runs.ts'

const NAME = 'gateway-sockets'

/** Number of concurrent cases, each with its own port and upstream. */
const LANES = 16
const ROUND = 1_000
/** Milliseconds after which a client that waits for a response counts as hung. */
const HANG = 10_000

interface Lane {
  readonly port: number
  readonly upstream: RawUpstream
  /** Complete requests that the upstream received. */
  seen: PlainSeen[]
  /** Bytes that the upstream received and that are not a request. */
  wrong: string[]
}

/** Bodies that match their framing, so that the bytes after them are parsed. */
function withBody(): fc.Arbitrary<string> {
  const size = fc.constantFrom(1, 2, 15, 16, 300)
  const extension = fc.constantFrom('', '', '', ';a', ';a=b', ';a="b\\"c"')
  const chunk = fc
    .tuple(size, extension)
    .map(([length, own]) => `${length.toString(16)}${own}\r\n${'x'.repeat(length)}\r\n`)
  const tail = fc.constantFrom('', '', 'x-sum: 1\r\n', 'content-length: 5\r\n', 'a b: c\r\n')
  const chunked = fc.tuple(fc.array(chunk, { maxLength: 3 }), tail).map(([chunks, trailers]) => {
    const head = 'POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
    return `${head}${chunks.join('')}0\r\n${trailers}\r\n`
  })
  const length = size.map(
    (count) => `PUT /l HTTP/1.1\r\nHost: a\r\nContent-Length: ${count}\r\n\r\n${'y'.repeat(count)}`,
  )
  return fc.oneof(mutated(chunked), chunked, length)
}

const stream = fc.array(fc.oneof(mutatedRequest(), withBody(), withBody()), {
  minLength: 1,
  maxLength: 3,
})
const cases = fc.tuple(
  stream.map((all) => all.join('')),
  portions(),
)

describe('mutated requests on real sockets', () => {
  const { numRuns, seed } = fuzz(2.5)
  let gateway: WholeGateway
  let lanes: Lane[] = []

  before(async () => {
    lanes = await Promise.all(Array.from({ length: LANES }, openLane))
    const gateways = lanes.map(({ port }, i) => `  lane-${i}: { port: ${port} }\n`).join('')
    const routes = lanes.map(
      ({ upstream }, i) =>
        `- { name: r${i}, gateways: [lane-${i}], backends: [{ host: '127.0.0.1:${upstream.port}' }] }\n`,
    )
    gateway = await startWhole(
      `frontendPolicies: { accessLog: { filter: 'false' } }\ngateways:\n${gateways}routes:\n${routes.join('')}`,
    )
  })

  after(async () => {
    await gateway.stop()
    for (const { upstream } of lanes) upstream.close()
  })

  it(`${numRuns} streams: each gets the responses that the plain twin says, and nothing else passes`, async () => {
    for (const { input = [] } of corpusOf(NAME)) {
      const [text, ends] = input as unknown as [string, number[]]
      await check(lanes[0] as Lane, text, ends, seed)
    }
    for (let from = 0; from < numRuns; from += ROUND) {
      const count = Math.min(ROUND, numRuns - from)
      const all = fc.sample(cases, { numRuns: count, seed: seed + from })
      let next = 0
      const run = async (lane: Lane) => {
        for (;;) {
          const found = all[next++]
          if (found === undefined) return
          const [text, cut] = found
          await checked(lane, text, cut(text.length), seed + from)
        }
      }
      await Promise.all(lanes.map(run))
      gateway.lines.length = 0
    }
    await until('all connections to be gone', () => gateway.connections() === 0)
    assert.match(gateway.metrics(), /^portcullis_requests_active\S* 0$/m)
    assert.doesNotMatch(gateway.metrics(), /^portcullis_requests_active\S* -?[1-9]/m)
  })
})

const OWN_LINES =
  /x-request-id: [0-9a-f-]{36}\r\n|x-forwarded-(?:for: 127\.0\.0\.1|proto: http|host: [^\r\n]+)\r\n/g

async function openLane(): Promise<Lane> {
  const held = new WeakMap<Socket, string>()
  const upstream = await startUpstream((text, socket) => {
    // The gateway adds the id and who the client is; everything else came from the client.
    const all = ((held.get(socket) ?? '') + text).replaceAll(OWN_LINES, '')
    const { seen, consumed, rest } = plainReceived(all)
    held.set(socket, all.slice(consumed))
    lane.seen.push(...seen)
    if (rest !== 'more') lane.wrong.push(`${rest}: ${JSON.stringify(all.slice(consumed))}`)
    for (const _ of seen) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
  })
  const lane: Lane = { port: await free(), upstream, seen: [], wrong: [] }
  return lane
}

/** Records the input if the check fails. */
async function checked(lane: Lane, text: string, ends: readonly number[], seed: number) {
  try {
    await check(lane, text, ends, seed)
  } catch (thrown) {
    const error = String((thrown as Error).message)
    const note = `found: ${error.slice(0, 200)}`
    recordFind({ name: NAME, entry: { note, input: [text, [...ends]] }, error })
    throw thrown
  }
}

async function check(lane: Lane, text: string, ends: readonly number[], seed: number) {
  lane.seen = []
  lane.wrong = []
  const expected = plainExchanges(text)
  const { statuses, isClosed } = await send(lane.port, text, ends, expected)
  const about = `FUZZ_SEED=${seed} ${JSON.stringify(text)}`
  assert.deepEqual(statuses, expected.statuses, about)
  assert.deepEqual(lane.wrong, [], about)
  assert.deepEqual(lane.seen, expected.seen, about)
  if (expected.isClosed) assert.ok(isClosed, `not closed: ${about}`)
}

/** Sends the text in portions, and waits for the expected number of responses. */
async function send(
  port: number,
  text: string,
  ends: readonly number[],
  expected: ReturnType<typeof plainExchanges>,
) {
  const count = expected.statuses.length
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let received = ''
  let isClosed = false
  const done = Promise.withResolvers<void>()
  socket.on('error', () => {})
  socket.on('end', () => {
    isClosed = true
    done.resolve()
  })
  socket.on('close', () => {
    isClosed = true
    done.resolve()
  })
  socket.on('data', (bytes) => (received += bytes.toString('latin1')))
  const timer = setTimeout(() => done.resolve(), HANG)
  let from = 0
  for (const end of ends.length > 40 ? [text.length] : ends) {
    if (end > from) socket.write(text.slice(from, end), 'latin1')
    if (end < text.length) await new Promise(setImmediate)
    from = end
  }
  while (!isClosed && statusesIn(received).length < count) {
    const more = new Promise((resolve) => socket.once('data', resolve))
    const before = received.length
    await Promise.race([more, done.promise])
    if (received.length === before) break
  }
  // The connection ends after the last response of a connection that closes.
  if (expected.isClosed || /\r\nconnection: close\r\n/.test(received)) await done.promise
  clearTimeout(timer)
  socket.destroy()
  await new Promise(setImmediate)
  return { statuses: statusesIn(received), isClosed }
}

/** Status codes of final responses. The gateway's own response bodies contain no status line. */
function statusesIn(received: string): readonly number[] {
  const all = [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
  return all.filter((status) => status >= 200)
}
