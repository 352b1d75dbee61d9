import assert from 'node:assert/strict'
import type { Readable } from 'node:stream'
import { after, before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import type { BodyFlow, BodyPart, BodyTransformer } from '../../src/exchange/body-part.ts'
import type { PlacedPart } from '../../src/program/way-back.ts'
import { fill } from '../faults/patterns.ts'
import { type Http2Gateway, startHttp2Gateway, type Version } from '../proxy/http2-gateway.ts'
import { type Client, clientOf, type Peer, startPeer } from '../proxy/http2-peers.ts'
import { assertProperty } from './assert-property.ts'
import { fuzz } from './runs.ts'
import { inPiecesOf, plainly, readBack, type Twin, twin, twins } from './transformers.ts'

/**
 * Bodies in both directions through transformers, over real sockets and with both HTTP versions on
 * both sides, compared with the result of the same transformers for a whole body. With injected
 * faults, a failed body must never look complete.
 */

const VERSIONS: readonly (readonly [Version, Version])[] = [
  ['h1', 'h1'],
  ['h1', 'h2'],
  ['h2', 'h1'],
  ['h2', 'h2'],
]

interface Case {
  readonly upload: number
  readonly download: number
  readonly pieces: readonly number[]
  readonly hasLength: boolean
  readonly hasTrailers: boolean
  readonly up: readonly Twin[]
  readonly down: readonly Twin[]
  /** An optional first part in each direction, which waits for the whole body or its beginning. */
  readonly holds: 'nothing' | 'whole' | 'beginning'
}

const length = fc.oneof(fc.nat(9), fc.nat(3_000), fc.nat(200_000))
const cases: fc.Arbitrary<Case> = fc.record({
  upload: length.map((own) => own + 1),
  download: length,
  pieces: fc.array(fc.oneof(fc.constant(1), fc.integer({ min: 2, max: 40_000 })), {
    minLength: 2,
    maxLength: 4,
  }),
  hasLength: fc.boolean(),
  hasTrailers: fc.boolean(),
  up: fc.array(twin, { maxLength: 2 }),
  down: twins,
  holds: fc.constantFrom('nothing', 'nothing', 'whole', 'beginning'),
})

const placed = (body: BodyPart): PlacedPart => ({ policy: undefined, body })

function partsOf(own: readonly Twin[], holds: Case['holds']): readonly PlacedPart[] {
  const held: Readonly<Record<Case['holds'], readonly BodyPart[]>> = {
    nothing: [],
    whole: [{ mode: 'whole', maxBytes: 1 << 20, whenLonger: 'reject' }],
    beginning: [{ mode: 'beginning', maxBytes: 100, look: () => undefined }],
  }
  const streams = own.map(
    ({ open }): BodyPart => ({ mode: 'stream', open: (_, flow) => open(flow) }),
  )
  return [...held[holds], ...streams].map(placed)
}

/**
 * Fails at this byte of the body: by an exception, by `flow.fail`, or by `flow.fail` some turns
 * later.
 */
interface Fault {
  readonly at: number
  readonly by: 'throw' | 'fail' | 'later'
}

function failing({ at, by }: Fault): (flow: BodyFlow) => BodyTransformer {
  return (flow) => {
    let seen = 0
    let isGone = false
    const failure = () => new Error('planted')
    const check = (bytes: number) => {
      seen += bytes
      if (seen < at) return true
      // No later bytes and no end may overtake a failure that is reported later.
      if (isGone) return false
      isGone = true
      if (by === 'throw') throw failure()
      if (by === 'fail') flow.fail(failure())
      else setImmediate(() => flow.fail(failure()))
      return false
    }
    return {
      write: (bytes) => check(bytes.length) && flow.write(bytes),
      end: () => {
        if (check(Number.POSITIVE_INFINITY)) flow.end()
      },
      resume: () => {
        if (!isGone) flow.drained()
      },
      abort: () => {},
    }
  }
}

for (const [front, back] of VERSIONS) {
  describe(`bodies through transformers, ${front} to ${back}`, () => {
    let peer: Peer
    let gateway: Http2Gateway
    let client: Client
    /** The data that the backend sends, and the body that it received. */
    let current: Case
    let received: Buffer | 'broken'
    const route = { requestBodies: undefined, responseParts: undefined } as {
      requestBodies: readonly PlacedPart[] | undefined
      responseParts: readonly PlacedPart[] | undefined
    }

    before(async () => {
      peer = await startPeer(back, async (request, response) => {
        try {
          received = await read(request as Readable)
        } catch {
          received = 'broken'
          response.destroy()
          return
        }
        const body = fill(5, 0, current.download)
        const headers: Record<string, string> = {}
        if (current.hasLength) headers['content-length'] = String(body.length)
        else if (current.hasTrailers) headers['trailer'] = 'x-sum'
        response.writeHead(200, headers)
        for (const piece of inPiecesOf(body, current.pieces).slice(0, 400)) {
          if (!response.write(piece)) await new Promise((go) => response.once('drain', go))
        }
        const sent = inPiecesOf(body, current.pieces)
          .slice(0, 400)
          .reduce((sum, { length: own }) => sum + own, 0)
        response.write(body.subarray(sent))
        if (current.hasTrailers && !current.hasLength) response.addTrailers({ 'x-sum': '7' })
        response.end()
      })
      // The gateway reads the parts anew for each request.
      gateway = await startHttp2Gateway({
        upstream: peer.port,
        speaks: back,
        parts: {
          requestBodies: { get: () => route.requestBodies },
          responseParts: { get: () => route.responseParts },
        },
      })
      client = clientOf(front, gateway.port)
    })

    after(() => {
      client.close()
      gateway.close()
      peer.close()
    })

    /** A body that does not reach its end counts as none, too. */
    const ask: Client['ask'] = (own) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error('it hangs')), 20_000)
        client
          .ask(own)
          .then(resolve, reject)
          .finally(() => clearTimeout(timer))
      })
    const broken = (error: Error) => {
      assert.doesNotMatch(error.message, /hangs/)
      return 'broken'
    }

    it('have the same result as for the whole bodies', async () => {
      await assertProperty(
        'way-back-sockets',
        fc.asyncProperty(cases, async (own) => {
          current = own
          route.requestBodies = partsOf(own.up, own.holds)
          route.responseParts = partsOf(own.down, own.holds)
          const upload = fill(9, 0, own.upload)
          const seen = await ask({ method: 'POST', body: upload, headers: { te: 'trailers' } })
          assert.equal(seen.status, 200)
          const through = plainly(own.up, upload)
          assert.equal(received === 'broken' ? received : received.length, through.length)
          assert.ok(received !== 'broken' && received.equals(through), 'upload')
          const expected = plainly(own.down, fill(5, 0, own.download))
          assert.ok(readBack(own.down, seen.body).equals(expected), 'download')
          const isTrailed = own.hasTrailers && !own.hasLength
          assert.equal(seen.trailers['x-sum'], isTrailed ? '7' : undefined)
          const reported = seen.headers['content-length']
          if (reported !== undefined) assert.equal(reported, String(seen.body.length))
        }),
        fuzz(0.01, 12),
      )
    })

    for (const by of ['throw', 'fail', 'later'] as const) {
      it(`never look whole where one fails (${by})`, async () => {
        for (const at of [1, 5, 40_000]) {
          current = {
            upload: 9,
            download: 100_000,
            pieces: [1, 30_000],
            hasLength: at === 5,
            hasTrailers: false,
            up: [],
            down: [],
            holds: 'nothing',
          }
          route.requestBodies = undefined
          route.responseParts = [
            placed({ mode: 'stream', open: (_, flow) => failing({ at, by })(flow) }),
          ]
          const seen = await ask({ method: 'POST', body: Buffer.from('x') }).catch(broken)
          if (typeof seen !== 'string') assert.equal(seen.status, 500, `download at ${at}`)
          else assert.ok(at > 1 || by === 'later', 'an error could be sent')

          received = Buffer.alloc(0)
          route.requestBodies = [
            placed({ mode: 'stream', open: (_, flow) => failing({ at, by })(flow) }),
          ]
          route.responseParts = undefined
          const upload = fill(9, 0, 90_000)
          const sent = await ask({ method: 'POST', body: upload }).catch(broken)
          assert.ok(typeof sent === 'string' || sent.status === 500, `upload at ${at}`)
          for (let i = 0; i < 10; i++) await turn()
          assert.ok(
            (received as unknown) === 'broken' || received.length === 0,
            'the backend got all',
          )
        }
      })
    }
  })
}

async function read(stream: Readable): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const bytes of stream) pieces.push(bytes as Buffer)
  return Buffer.concat(pieces)
}
