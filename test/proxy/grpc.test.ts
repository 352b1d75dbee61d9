import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { type Client, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { type Authority, makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { free } from './accepting.ts'
import { asIs, type GrpcPeer, grpcClient, SERVICE, startGrpc } from './grpc-peers.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

/** Everything that a call with a single response yields. */
interface Unary {
  readonly error: ServiceError | undefined
  readonly message: Buffer | undefined
  readonly head: Metadata
  readonly tail: Metadata
}

function unary(
  client: Client,
  name: string,
  message: Buffer,
  { metadata = new Metadata(), deadline = 20_000 } = {},
): Promise<Unary> {
  return new Promise((resolve) => {
    let head = new Metadata()
    let found: readonly [ServiceError | null, Buffer | undefined] = [null, undefined]
    const call = client.makeUnaryRequest(
      `/${SERVICE}/${name}`,
      asIs,
      asIs,
      message,
      metadata,
      { deadline: Date.now() + deadline },
      (error, response) => (found = [error, response]),
    )
    call.on('metadata', (own) => (head = own))
    call.on('status', ({ metadata: tail }) => {
      setImmediate(() => resolve({ error: found[0] ?? undefined, message: found[1], head, tail }))
    })
  })
}

describe('gRPC', () => {
  let peer: GrpcPeer
  let authority: Authority | undefined
  let gateway: WholeGateway
  let ports: { plain: number; tls: number; dead: number }

  before(async () => {
    peer = await startGrpc()
    if (WITHOUT_OPENSSL === false) authority = makeAuthority('grpc')
    const [plain, tls, dead] = await Promise.all([free(), free(), free()])
    ports = { plain, tls, dead }
    const pair = authority?.issue({ names: ['DNS:grpc.test'] })
    const inline = (text: string) => JSON.stringify(text)
    const secured =
      pair === undefined
        ? ''
        : `  secured:
    port: ${tls}
    tls: { cert: { inline: ${inline(pair.cert)} }, key: { inline: ${inline(pair.key)} } }
`
    gateway = await startWhole(`gateways:
  plain: { port: ${plain} }
${secured}routes:
- name: denied
  gateways: [plain]
  matches: [{ path: { exact: /${SERVICE}/denied } }]
  policies: { authorization: { rules: [{ deny: 'true' }] } }
  backends: [{ backend: grpc }]
- name: dead
  gateways: [plain]
  matches: [{ path: { exact: /${SERVICE}/dead } }]
  backends: [{ host: 127.0.0.1:${dead} }]
- name: limited
  gateways: [plain]
  matches: [{ path: { exact: /${SERVICE}/silent } }]
  policies: { timeout: { requestTimeout: 300ms } }
  backends: [{ backend: grpc }]
- name: grpc
  gateways: [plain${pair === undefined ? '' : ', secured'}]
  backends: [{ backend: grpc }]
backends:
- name: grpc
  host: 127.0.0.1:${peer.port}
  policies: { http: { version: HTTP2 } }
`)
  })

  after(async () => {
    await gateway.stop()
    peer.close()
  })

  for (const [way, skip] of [
    ['h2c', false],
    ['h2 over TLS', WITHOUT_OPENSSL],
  ] as const) {
    describe(`${way} to the gateway, h2c to the backend`, { skip }, () => {
      let client: Client

      before(() => {
        client = way === 'h2c' ? grpcClient(ports.plain) : grpcClient(ports.tls, authority?.cert)
      })

      after(() => client.close())

      it('unary, with metadata before and after', async () => {
        const metadata = new Metadata()
        metadata.set('x-own-bin', Buffer.from([0, 255, 13, 10]))
        const own = await unary(client, 'unary', Buffer.from('hello'), { metadata })
        assert.equal(own.error, undefined)
        assert.equal(own.message?.toString(), 'hello')
        assert.deepEqual(own.head.get('x-head'), ['of the server'])
        assert.deepEqual(own.tail.get('x-tail'), ['behind it'])
        assert.deepEqual(own.tail.get('x-seen-bin'), [Buffer.from([0, 255, 13, 10])])
      })

      it('messages of 0 bytes to 20 MB arrive unchanged', async () => {
        for (const size of [0, 1, 16_384, 65_536, 20_000_000]) {
          const message = randomBytes(size)
          const own = await unary(client, 'unary', message)
          assert.equal(own.error, undefined)
          assert.ok(own.message?.equals(message), `${size} bytes`)
        }
      })

      it('an error has its code, its message and its trailers', async () => {
        const { error, tail } = await unary(client, 'fail', Buffer.alloc(0))
        assert.equal(error?.code, status.FAILED_PRECONDITION)
        assert.equal(error.details, 'nö, 100%')
        assert.deepEqual(tail.get('x-why'), ['tested'])
      })

      it('an unknown method is UNIMPLEMENTED, from the backend', async () => {
        const { error } = await unary(client, 'unheard-of', Buffer.alloc(0))
        assert.equal(error?.code, status.UNIMPLEMENTED)
      })

      it('server streaming: 2,000 messages in order', async () => {
        const call = client.makeServerStreamRequest(
          `/${SERVICE}/server`,
          asIs,
          asIs,
          Buffer.from('2000'),
        )
        const texts: string[] = []
        for await (const message of call) texts.push(String(message))
        assert.deepEqual(
          texts,
          Array.from({ length: 2_000 }, (_, i) => `message ${i}`),
        )
      })

      it('a stream that fails after its first message reports the error', async () => {
        const call = client.makeServerStreamRequest(
          `/${SERVICE}/breaking`,
          asIs,
          asIs,
          Buffer.alloc(0),
        )
        const texts: string[] = []
        const error = await new Promise<ServiceError>((resolve) => {
          call.on('data', (message) => texts.push(String(message)))
          call.on('error', (own) => resolve(own as ServiceError))
        })
        assert.deepEqual(texts, ['one'])
        assert.deepEqual([error.code, error.details], [status.DATA_LOSS, 'lost'])
      })

      it('client streaming: 1,000 messages of 8 KiB', async () => {
        const response = await new Promise<Buffer | undefined>((resolve, reject) => {
          const call = client.makeClientStreamRequest(
            `/${SERVICE}/client`,
            asIs,
            asIs,
            (error, message?: Buffer) => (error === null ? resolve(message) : reject(error)),
          )
          const message = Buffer.alloc(8_192)
          for (let i = 0; i < 1_000; i++) call.write(message)
          call.end()
        })
        assert.equal(response?.toString(), String(1_000 * 8_192))
      })

      it('bidirectional: each message gets a response before the next is sent', async () => {
        const call = client.makeBidiStreamRequest(`/${SERVICE}/both`, asIs, asIs)
        for (let i = 0; i < 100; i++) {
          const received = new Promise((resolve) => call.once('data', resolve))
          call.write(Buffer.from(`turn ${i}`))
          assert.equal(String(await received), `re: turn ${i}`)
        }
        const ended = new Promise<number>((resolve) =>
          call.on('status', ({ code }) => resolve(code)),
        )
        call.end()
        assert.equal(await ended, status.OK)
      })

      it('a client that cancels a call also ends it at the backend', async () => {
        const before = peer.cancelled.length
        const call = client.makeBidiStreamRequest(`/${SERVICE}/both`, asIs, asIs)
        call.on('error', () => {})
        const received = new Promise((resolve) => call.once('data', resolve))
        call.write(Buffer.from('only'))
        await received
        call.cancel()
        await until('the backend to hear of it', () => peer.cancelled.length > before)
        assert.equal(peer.cancelled.at(-1), 'both')
      })

      it('100 concurrent calls on one connection', async () => {
        const all = await Promise.all(
          Array.from({ length: 100 }, (_, i) => unary(client, 'unary', Buffer.from(String(i)))),
        )
        assert.ok(all.every(({ message }, i) => message?.toString() === String(i)))
      })
    })
  }

  describe('responses of the gateway itself', () => {
    let client: Client

    before(() => {
      client = grpcClient(ports.plain)
    })

    after(() => client.close())

    it('a deadline of the client also ends the call at the backend', async () => {
      const before = peer.cancelled.length
      const { error } = await unary(client, 'silent', Buffer.alloc(0), { deadline: 100 })
      assert.equal(error?.code, status.DEADLINE_EXCEEDED)
      await until('the backend to hear of it', () => peer.cancelled.length > before)
    })

    for (const [name, code, reason] of [
      ['denied', status.PERMISSION_DENIED, 'authorization'],
      ['dead', status.UNAVAILABLE, 'upstream-connect'],
      ['silent', status.UNAVAILABLE, 'request-timeout'],
    ] as const) {
      it(`${name}: grpc-status ${code} with the id of the request`, async () => {
        const { error, tail } = await unary(client, name, Buffer.from('x'))
        assert.equal(error?.code, code)
        const line = gateway.lines.findLast((own) => own['http.path'] === `/${SERVICE}/${name}`)
        assert.equal(line?.['reason'], reason)
        assert.equal(line?.['grpc.status'], code)
        assert.deepEqual(tail.get('x-request-id'), [line?.['request.id']])
      })
    }
  })
})
