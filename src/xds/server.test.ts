import assert from 'node:assert/strict'
import { once } from 'node:events'
import http2 from 'node:http2'
import net from 'node:net'
import { after, afterEach, describe, it } from 'node:test'
import type { Rejection } from './ads.ts'
import {
  certificates,
  Files,
  route,
  routesOf,
  startServer,
  TestProxy,
} from './fixtures/delivery.ts'
import { Publications } from './publications.ts'
import type { XdsServerOptions } from './server.ts'

const files = new Files()
after(() => files.remove())
const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const tokenOf = (gateway: string) => files.write(`token-${gateway}`, `token-of-${gateway}\n`)

async function start(options: Partial<XdsServerOptions> = {}) {
  const started = await startServer(options)
  cleanups.push(() => started.server.close())
  return started
}

function proxy(options: ConstructorParameters<typeof TestProxy>[0]): TestProxy {
  const started = new TestProxy({ tokenFile: tokenOf('a'), ...options })
  cleanups.push(() => started.stop())
  return started
}

/** Forwards to another port, and records all bytes that come back from there. */
async function tap(port: number, seen: Buffer[]): Promise<number> {
  const server = net.createServer((client) => {
    const upstream = net.connect(port, '127.0.0.1')
    upstream.on('data', (bytes) => seen.push(Buffer.from(bytes)))
    client.pipe(upstream).pipe(client)
    client.on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(async () => server.close())
  return (server.address() as net.AddressInfo).port
}

describe('delivery over a socket', () => {
  it('sends the Model of the Gateway, and each change', async () => {
    const { publications, address } = await start()
    publications.publish('a', routesOf('one'))
    const pod = proxy({ address })
    await pod.until(() => pod.routes === 'one')
    publications.publish('a', routesOf('one', 'two'))
    await pod.until(() => pod.routes === 'one,two')
    publications.publish('a', routesOf('two'))
    await pod.until(() => pod.routes === 'two')
    assert.equal(pod.models.length, 3)
  })

  it('tracks the version of each proxy, and what it rejects', async () => {
    let changed = () => {}
    const publications = new Publications(() => changed())
    const { address } = await start({ publications })
    publications.publish('a', routesOf('good'))
    const pod = proxy({ address, node: 'pod-7' })
    const origin = { kind: 'object', object: 'HTTPRoute x/bad', field: 'spec.rules[0]' } as const
    const bad = { code: 'PC0107', severity: 'error', message: 'wrong', origin } as const
    pod.judge = ({ routes }) =>
      routes
        .filter(({ name }) => name === 'bad')
        .map(() => ({ resource: 'routes/bad', version: '1', diagnostics: [bad] }))
    const outcome = async (version: string) => {
      for (;;) {
        const [state] = publications.proxies('a')
        if (state?.outcome?.version === version) return state
        await new Promise<void>((resolve) => {
          changed = resolve
        })
      }
    }
    const names = Array.from({ length: 1_000 }, (_, n) => `good${n}`)
    const version = publications.publish('a', routesOf(...names.toSpliced(500, 0, 'bad')))
    const state = await outcome(version)
    assert.equal(state.node, 'pod-7')
    assert.deepEqual(state.outcome?.rejections, [
      { resource: 'routes/bad', version: '1', diagnostics: [bad] },
    ])
    assert.equal(pod.models.at(-1)?.model.routes.length, 1_001)
    const fixed = publications.publish('a', routesOf(...names))
    assert.deepEqual((await outcome(fixed)).outcome?.rejections, [])
    await pod.stop()
    while (publications.proxies('a').length > 0) {
      await new Promise<void>((resolve) => {
        changed = resolve
      })
    }
  })

  it('sends a proxy of one Gateway no byte of another', async () => {
    const { publications, server } = await start()
    /** A name that only one Gateway uses, before and after a change. */
    const secretOf = (gateway: string) => `only-for-${gateway}`
    const publish = (...names: readonly string[]) => {
      for (const gateway of ['a', 'b']) {
        const routes = names.map((name) => route(name, secretOf(gateway)))
        publications.publish(gateway, { ...routesOf(), routes })
      }
    }
    publish('one')
    for (const [gateway, other] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const) {
      const seen: Buffer[] = []
      const port = await tap(server.port, seen)
      const address = `http://127.0.0.1:${port}`
      // The proxy may call itself anything: the token decides.
      const pod = proxy({ address, node: other, tokenFile: tokenOf(gateway) })
      await pod.until(() => pod.models.length === 1)
      publish('one', `two-${gateway}`)
      await pod.until(() => pod.routes === `one,two-${gateway}`)
      const bytes = Buffer.concat(seen).toString('latin1')
      assert.ok(bytes.includes(secretOf(gateway)))
      assert.ok(!bytes.includes(secretOf(other)))
    }
  })

  for (const [what, tokenFile, reason] of [
    ['no token', undefined, 'missing-token'],
    ['a token that is not valid', 'forged', 'invalid-token'],
    ['a token of no Gateway', 'token-of-nobody', 'unknown-gateway'],
    ['two tokens', 'token-of-a token-of-b', 'missing-token'],
  ] as const) {
    it(`sends nothing to a proxy with ${what}`, async () => {
      const rejected: Rejection[] = []
      const events = { rejected: (why: Rejection) => rejected.push(why) }
      const { publications, address } = await start({ events })
      publications.publish('a', routesOf('one'))
      const file = tokenFile === undefined ? undefined : files.write('t', tokenFile)
      const pod = proxy({ address, tokenFile: file })
      await pod.until(() => pod.lost.length > 1)
      assert.equal(rejected[0], reason)
      assert.equal(pod.models.length, 0)
    })
  }

  it('disconnects the proxies of a deleted Gateway', async () => {
    const { publications, address } = await start()
    publications.publish('a', routesOf('one'))
    const pod = proxy({ address })
    await pod.until(() => pod.routes === 'one')
    publications.withdraw('a')
    await pod.until(() => pod.lost.length > 1)
    assert.deepEqual(publications.proxies('a'), [])
    assert.equal(pod.routes, 'one', 'it keeps what it has')
  })

  it('sends a proxy that reconnects to any replica only the changes since', async () => {
    let bytes = 0
    const events = { sent: (_: string, count: number) => void (bytes += count) }
    const names = Array.from({ length: 2_000 }, (_, n) => `r${n}`)
    const first = await start()
    first.publications.publish('a', routesOf(...names))
    const address = `http://127.0.0.1:${first.server.port}`
    const pod = proxy({ address })
    await pod.until(() => pod.models.length === 1)
    await first.server.close()
    // Another process on the same address, which knows nothing about the proxy.
    const second = await start({ port: first.server.port, events })
    second.publications.publish('a', routesOf(...names.with(1_999, 'new')))
    await pod.until(() => pod.models.length === 2)
    assert.ok(pod.routes.endsWith(',new'))
    assert.ok(bytes > 0 && bytes < 500, `${bytes} bytes`)
  })

  it('ends old streams, and the proxy continues', async () => {
    let connections = 0
    const events = { connected: () => void connections++ }
    const { publications, address } = await start({ maxStreamAge: 30, events })
    publications.publish('a', routesOf('one'))
    const pod = proxy({ address })
    await pod.until(() => connections > 2)
    assert.equal(pod.models.length, 1)
    publications.publish('a', routesOf('two'))
    await pod.until(() => pod.routes === 'two')
  })

  it('sends a busy proxy the last of many changes', async () => {
    const { publications, address } = await start()
    publications.publish('a', routesOf('r0'))
    const pod = proxy({ address })
    await pod.until(() => pod.routes === 'r0')
    const gate = Promise.withResolvers<readonly []>()
    pod.judge = () => gate.promise
    for (let count = 1; count <= 500; count++) {
      publications.publish('a', routesOf(`r${count}`))
      await new Promise((resolve) => setImmediate(resolve))
    }
    gate.resolve([])
    await pod.until(() => pod.routes === 'r500')
    assert.ok(pod.models.length < 10, `${pod.models.length}`)
  })
})

describe('the delivery transport', () => {
  const { authority, serving } = certificates()
  const caFile = files.write('ca.crt', authority.cert)

  for (const [mode, scheme, isServed] of [
    ['plaintext', 'http', true],
    ['plaintext', 'https', false],
    ['tls', 'https', true],
    ['tls', 'http', false],
    ['either', 'https', true],
    ['either', 'http', true],
  ] as const) {
    it(`${mode}: ${scheme} is ${isServed ? 'served' : 'closed'}`, async () => {
      const { publications, server } = await start({ mode, certificate: serving })
      publications.publish('a', routesOf('one'))
      const pod = proxy({ address: `${scheme}://127.0.0.1:${server.port}`, caFile })
      await pod.until(() => pod.models.length > 0 || pod.lost.length > 1)
      assert.equal(pod.models.length > 0, isServed, pod.lost.join())
    })
  }

  it('a proxy rejects a server that its CA did not sign', async () => {
    const other = certificates()
    const { publications, server } = await start({ mode: 'tls', certificate: other.serving })
    publications.publish('a', routesOf('one'))
    const pod = proxy({ address: `https://127.0.0.1:${server.port}`, caFile })
    await pod.until(() => pod.lost.length > 1)
    assert.equal(pod.models.length, 0)
  })

  it('a proxy rejects a server with another name', async () => {
    const other = certificates('portcullis.other.svc')
    const { publications, server } = await start({ mode: 'tls', certificate: other.serving })
    publications.publish('a', routesOf('one'))
    const own = files.write('other.crt', other.authority.cert)
    const pod = proxy({ address: `https://127.0.0.1:${server.port}`, caFile: own })
    await pod.until(() => pod.lost.length > 1)
    assert.equal(pod.models.length, 0)
  })

  it('certificate and CA are rotated at run time', async () => {
    const next = certificates()
    const { publications, server } = await start({ mode: 'tls', certificate: serving })
    publications.publish('a', routesOf('one'))
    const own = files.write('rotated.crt', authority.cert)
    const pod = proxy({ address: `https://127.0.0.1:${server.port}`, caFile: own })
    await pod.until(() => pod.routes === 'one')
    server.useCertificate(next.serving)
    publications.publish('a', routesOf('two'))
    await pod.until(() => pod.routes === 'two')
    files.write('rotated.crt', `${authority.cert}${next.authority.cert}`)
    const later = proxy({ address: `https://127.0.0.1:${server.port}`, caFile: own })
    await later.until(() => later.routes === 'two')
  })

  it('closes unused connections', async () => {
    const { server } = await start({ pingInterval: 30 })
    const session = http2.connect(`http://127.0.0.1:${server.port}`)
    session.on('error', () => {})
    await once(session, 'close')
  })

  for (const [what, bytes, more = ''] of [
    ['nothing', ''],
    ['HTTP/1.1', 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['HTTP/1.1 in two pieces', 'GET / HTTP/1.1\r\nhost: a', '\r\n\r\n'],
    ['half a preface', 'PRI * HTTP/2.0\r\n'],
    ['another protocol after the preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nxxxxxxxxxxxxxxxxxx'],
    ['half a handshake', '\x16\x03\x01\x02\x00\x01'],
  ] as const) {
    it(`survives a client that sends ${what} and leaves`, async () => {
      const { publications, address, server } = await start({
        mode: 'either',
        certificate: serving,
      })
      publications.publish('a', routesOf('one'))
      const socket = net.connect(server.port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write(Buffer.from(bytes, 'latin1'))
      await new Promise((resolve) => setImmediate(resolve))
      socket.end(Buffer.from(more, 'latin1'))
      socket.resume()
      await once(socket, 'close')
      const pod = proxy({ address })
      await pod.until(() => pod.routes === 'one')
    })
  }
})
