import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { inPieces } from '../../src/exchange/body-part.ts'
import { HeaderEdit } from '../../src/exchange/header-edit.ts'
import { reply } from '../../src/exchange/reply.ts'
import type { RouteProgram } from '../../src/program/program.ts'
import type { PlacedPart } from '../../src/program/way-back.ts'
import { exchange } from './harness.ts'
import { type Http2Gateway, startHttp2Gateway, type Version } from './http2-gateway.ts'
import { clientOf, type Handler, type Peer, startPeer } from './http2-peers.ts'

const VERSIONS = [
  ['h1', 'h1'],
  ['h1', 'h2'],
  ['h2', 'h1'],
  ['h2', 'h2'],
] as const

const opened: { close(): void }[] = []
after(() => {
  for (const one of opened.reverse()) one.close()
})

interface Between {
  readonly peer: Peer
  readonly gateway: Http2Gateway
  ask: ReturnType<typeof clientOf>['ask']
}

async function between(
  [front, back]: readonly [Version, Version],
  handler: Handler,
  route: Partial<RouteProgram>,
): Promise<Between> {
  const peer = await startPeer(back, handler)
  const gateway = await startHttp2Gateway({ upstream: peer.port, speaks: back, route })
  const client = clientOf(front, gateway.port)
  opened.push(peer, gateway, client)
  return { peer, gateway, ask: client.ask }
}

const part = (own: Omit<PlacedPart, 'policy'>): PlacedPart => ({ policy: undefined, ...own })
const shout = (bytes: Uint8Array) =>
  Buffer.from(Buffer.from(bytes).toString('latin1').toUpperCase())

for (const versions of VERSIONS) {
  describe(`on the way back, ${versions.join(' to ')}`, () => {
    it('a step sees the response, and changes status and headers', async () => {
      const seen: unknown[] = []
      const { ask, gateway } = await between(
        versions,
        (_, response) => {
          response.writeHead(201, { 'x-kept': 'a', 'x-gone': 'b', 'set-cookie': ['a=1', 'b=2'] })
          response.end('hello')
        },
        {
          responseParts: [
            part({
              response: (_, draft) => {
                seen.push(draft.status, draft.headers.get('X-Gone'), draft.isOwn)
                draft.change(new HeaderEdit(['x-gone'], [['x-new', '1']]))
                draft.status = 202
                return undefined
              },
            }),
            part({
              response: async (_, draft) => {
                seen.push(draft.status, draft.headers.get('x-gone'), draft.headers.get('x-new'))
                return undefined
              },
            }),
          ],
        },
      )
      const response = await ask({})
      assert.deepEqual(seen, [201, 'b', false, 202, undefined, '1'])
      assert.equal(response.status, 202)
      assert.equal(response.headers['x-kept'], 'a')
      assert.equal(response.headers['x-gone'], undefined)
      assert.equal(response.headers['x-new'], '1')
      assert.deepEqual(response.headers['set-cookie'], ['a=1', 'b=2'])
      assert.equal(response.body.toString(), 'hello')
      assert.equal(gateway.runs[0]?.exchange.status, 202)
    })

    it('a step may replace the response, and the steps around it see the new one', async () => {
      const { ask } = await between(versions, (_, response) => response.end('secret'), {
        responseParts: [
          part({ response: () => reply(451, 'authorization', 'no') }),
          part({
            response: (_, draft) => {
              const code = `${draft.status} ${draft.isOwn}`
              draft.change(new HeaderEdit([], [['x-seen', code]]))
              return undefined
            },
          }),
        ],
      })
      for (let i = 0; i < 3; i++) {
        const response = await ask({})
        assert.equal(response.status, 451)
        assert.equal(response.headers['x-seen'], '451 true')
        assert.equal(response.body.toString(), 'no')
      }
    })

    it('responses of the gateway itself pass through the steps', async () => {
      const { ask } = await between(versions, (_, response) => response.end('secret'), {
        run: () => reply(403, 'authorization'),
        responseParts: [
          part({
            response: (_, draft) => {
              draft.change(new HeaderEdit(['content-type'], [['content-type', 'text/odd']]))
              return undefined
            },
            body: {
              mode: 'whole',
              maxBytes: 1_000,
              whenLonger: 'reject',
              change: (bytes) => shout(bytes),
            },
          }),
        ],
      })
      const response = await ask({})
      assert.equal(response.status, 403)
      assert.equal(response.headers['content-type'], 'text/odd')
      assert.match(response.body.toString(), /^FORBIDDEN\nREQUEST ID-1\n$/)
    })

    it('a complete body is changed and has a length', async () => {
      const { ask } = await between(
        versions,
        (_, response) => {
          response.write('hel')
          setTimeout(() => response.end('lo'), 5)
        },
        {
          responseParts: [
            part({
              body: {
                mode: 'whole',
                maxBytes: 5,
                whenLonger: 'reject',
                change: (bytes) => shout(bytes),
              },
            }),
          ],
        },
      )
      const response = await ask({})
      assert.equal(response.body.toString(), 'HELLO')
      assert.equal(response.headers['content-length'], '5')
      const head = await ask({ method: 'HEAD' })
      assert.equal(head.status, 200)
      assert.equal(head.headers['content-length'], undefined)
    })

    it('a body beyond the limit is rejected, or passes unchanged', async () => {
      for (const whenLonger of ['reject', 'pass'] as const) {
        const { ask } = await between(
          versions,
          (_, response) => {
            response.write('hel')
            setTimeout(() => response.end('lo'), 5)
          },
          {
            responseParts: [
              part({ body: { mode: 'whole', maxBytes: 4, whenLonger, change: shout } }),
            ],
          },
        )
        const response = await ask({})
        assert.equal(response.status, whenLonger === 'reject' ? 502 : 200)
        if (whenLonger === 'pass') assert.equal(response.body.toString(), 'hello')
      }
    })

    it('chunks are changed as they arrive, and trailers are kept', async () => {
      const { ask } = await between(
        versions,
        (_, response) => {
          response.writeHead(200, { trailer: 'x-sum' })
          response.write('hel')
          setTimeout(() => {
            response.addTrailers({ 'x-sum': '7' })
            response.end('lo')
          }, 5)
        },
        {
          responseParts: [
            part({ body: { mode: 'stream', open: (_, flow) => inPieces(flow, shout) } }),
          ],
        },
      )
      const response = await ask({ headers: { te: 'trailers' } })
      assert.equal(response.body.toString(), 'HELLO')
      assert.equal(response.trailers['x-sum'], '7')
    })

    it('a request is changed, complete or in chunks, and again for another attempt', async () => {
      for (const mode of ['whole', 'stream'] as const) {
        const bodies: string[] = []
        const { ask } = await between(
          versions,
          (request, response) => {
            let body = ''
            request.on('data', (bytes: Buffer) => {
              body += bytes.toString('latin1')
            })
            request.on('end', () => {
              bodies.push(`${request.headers['content-length']} ${body}`)
              response.statusCode = bodies.length === 1 ? 503 : 200
              response.end()
            })
          },
          {
            retry: {
              attempts: 2,
              statuses: new Set([503]),
              onConnectionError: false,
              backoff: 1,
              maxBody: 1_000,
              precondition: undefined,
              condition: undefined,
            },
            requestBodies: [
              part({
                body:
                  mode === 'whole'
                    ? {
                        mode,
                        maxBytes: 10,
                        whenLonger: 'reject',
                        change: (bytes) => Buffer.concat([shout(bytes), Buffer.from('!')]),
                      }
                    : { mode, open: (_, flow) => inPieces(flow, shout, () => Buffer.from('!')) },
              }),
            ],
          },
        )
        const response = await ask({ method: 'POST', body: Buffer.from('hello') })
        assert.equal(response.status, 200)
        for (const body of bodies) assert.match(body, mode === 'whole' ? /^6 HELLO!$/ : / HELLO!$/)
        assert.equal(bodies.length, 2)
        if (mode === 'whole') {
          const long = await ask({ method: 'POST', body: Buffer.from('hello hello') })
          assert.equal(long.status, 413)
        }
      }
    })
  })
}

describe('a transformer that fails', () => {
  const failing = (at: number): PlacedPart =>
    part({
      body: {
        mode: 'stream',
        open: (_, flow) => {
          let seen = 0
          return inPieces(flow, (bytes) => {
            seen += bytes.length
            if (seen >= at) throw new Error('planted')
            return bytes
          })
        },
      },
    })
  const slowly: Handler = (_, response) => {
    response.write('hello')
    setTimeout(() => response.end('world'), 20)
  }

  for (const versions of VERSIONS) {
    it(`before the first byte is an error, ${versions.join(' to ')}`, async () => {
      const handler: Handler = (_, response) => response.end('hello')
      const { ask, gateway } = await between(versions, handler, { responseParts: [failing(1)] })
      const response = await ask({ headers: { accept: 'application/json' } })
      assert.equal(response.status, 500)
      assert.equal(response.headers['content-type'], 'application/problem+json')
      assert.equal(JSON.parse(response.body.toString()).status, 500)
      assert.equal(gateway.runs[0]?.exchange.reason, 'internal')
    })
  }

  it('after the first byte ends the connection of HTTP/1.1 without a last chunk', async () => {
    const { gateway } = await between(['h1', 'h1'], slowly, { responseParts: [failing(6)] })
    const text = await exchange(gateway.port, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n5\r\nhello\r\n$/)
  })

  it('after the first byte resets the stream of HTTP/2', async () => {
    const { ask, gateway } = await between(['h2', 'h1'], slowly, { responseParts: [failing(6)] })
    await assert.rejects(ask({}), /NGHTTP2_INTERNAL_ERROR|closed with 2/)
    assert.equal(gateway.runs[0]?.exchange.reason, 'internal')
  })

  it('leaves no partial response for the next request', async () => {
    const { ask } = await between(['h2', 'h1'], slowly, { responseParts: [failing(8)] })
    for (let i = 0; i < 3; i++) await assert.rejects(ask({}))
  })
})
