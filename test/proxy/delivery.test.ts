import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { reply } from '../../src/exchange/reply.ts'
import type { RouteProgram } from '../../src/program/program.ts'
import { Pool, tcpSocket } from '../../src/upstream/pool.ts'
import { Deadlines } from '../../src/wire/deadlines.ts'
import { exchange, startEcho, startGateway, startUpstream } from './harness.ts'
import { until } from './whole-gateway.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'
const BUSY = 'HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy'
const GET = 'GET /a HTTP/1.1\r\nhost: x\r\n\r\n'
const POST = 'POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nbody'
const CHUNKED =
  'POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n'

const opened: { close: () => unknown }[] = []
after(() => Promise.all(opened.map((own) => own.close())))

const RETRY = {
  attempts: 2,
  statuses: new Set([503]),
  onConnectionError: true,
  backoff: 5,
  maxBody: 1_024,
} as unknown as RouteProgram['retry']

/** An upstream that sends one response after the other; `reset` closes the connection instead. */
async function startResponses(...responses: readonly string[]) {
  let at = 0
  const upstream = await startUpstream((text, socket) => {
    if (!text.endsWith('\r\n\r\n') && !text.endsWith('body')) return
    const response = responses[Math.min(at++, responses.length - 1)]
    if (response === 'reset') socket.resetAndDestroy()
    else socket.write(response as string)
  })
  opened.push(upstream)
  return upstream
}

describe('retries', () => {
  for (const [title, responses, request, status, attempts] of [
    ['a status that is retried, then a good one', [BUSY, OK], GET, 200, 2],
    ['a reset, then a good response', ['reset', OK], GET, 200, 2],
    ['a body is sent again', [BUSY, OK], POST, 200, 2],
    ['a chunked body too', [BUSY, OK], CHUNKED, 200, 2],
    ['the last response counts when all attempts are used', [BUSY], GET, 503, 3],
    [
      'other statuses are not retried',
      ['HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n'],
      GET,
      500,
      1,
    ],
  ] as const) {
    it(title, async () => {
      const upstream = await startResponses(...responses)
      const gateway = await startGateway(upstream.port, { route: { retry: RETRY } })
      opened.push(gateway)
      const text = await exchange(
        gateway.port,
        request,
        /\r\n\r\n(hello|busy|request)|length: 0\r\n\r\n/,
      )
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `))
      await until('all attempts', () => gateway.attempts.length >= attempts)
      assert.equal(gateway.attempts.length, attempts)
      const bodies = upstream.received.join('').match(/body/g)?.length ?? 0
      assert.equal(bodies, request === GET ? 0 : attempts)
    })
  }

  it('a body that is longer than the retained part is not sent again', async () => {
    const upstream = await startResponses(BUSY, OK)
    const small = { ...RETRY, maxBody: 2 } as RouteProgram['retry']
    const gateway = await startGateway(upstream.port, { route: { retry: small } })
    opened.push(gateway)
    assert.match(await exchange(gateway.port, POST, 'busy'), /^HTTP\/1\.1 503 /)
    assert.equal(gateway.attempts.length, 1)
  })

  it('without a retry policy a reset is a 502', async () => {
    const upstream = await startResponses('reset', OK)
    const gateway = await startGateway(upstream.port)
    opened.push(gateway)
    assert.match(await exchange(gateway.port, GET, /request id/), /^HTTP\/1\.1 502 /)
  })
})

describe('mirrors', () => {
  it('get the request with its body, and their response is discarded', async () => {
    const upstream = await startResponses(OK)
    const mirror = await startEcho('HTTP/1.1 500 No\r\ncontent-length: 6\r\n\r\nmirror')
    const deadlines = new Deadlines()
    const options = { connectTimeout: 500, idleTimeout: 500, max: 10 }
    const pool = new Pool(tcpSocket('127.0.0.1', mirror.port), options, deadlines)
    const cluster = {
      name: 'mirror',
      isHealthy: true,
      active: 0,
      choose: () => ({ pool, endpoint: 'mirror', host: '', done: () => {} }),
      close: () => pool.close(),
    }
    const gateway = await startGateway(upstream.port, {
      route: { mirrors: [{ cluster, fraction: 1 }] },
    })
    opened.push(mirror, gateway, cluster)
    for (const request of [POST, CHUNKED, GET]) {
      const text = await exchange(gateway.port, request, 'hello')
      assert.match(text, /^HTTP\/1\.1 200 /)
      assert.doesNotMatch(text, /mirror/)
    }
    const copies = (what: RegExp) => mirror.received.join('').match(what)?.length ?? 0
    await until('all copies', () => copies(/body/g) >= 2 && copies(/ \/a HTTP/g) >= 3)
    assert.equal(copies(/body/g), 2)
    assert.equal(copies(/ \/a HTTP/g), 3)
  })

  it('one that is unreachable does not matter', async () => {
    const upstream = await startResponses(OK)
    const gone = await startEcho(OK)
    gone.close()
    const options = { connectTimeout: 500, idleTimeout: 500, max: 10 }
    const pool = new Pool(tcpSocket('127.0.0.1', gone.port), options, new Deadlines())
    const choose = () => ({ pool, endpoint: 'mirror', host: '', done: () => {} })
    const state = { isHealthy: true, active: 0 }
    const cluster = { name: 'mirror', ...state, choose, close: () => pool.close() }
    const gateway = await startGateway(upstream.port, {
      route: { mirrors: [{ cluster, fraction: 1 }] },
    })
    opened.push(gateway)
    assert.match(await exchange(gateway.port, POST, 'hello'), /^HTTP\/1\.1 200 /)
  })
})

describe('the request timeout', () => {
  const timeouts = { request: 60, backendRequest: 0 } as RouteProgram['timeouts']

  it('is a 504 while there is no response', async () => {
    const upstream = await startUpstream(() => {})
    const gateway = await startGateway(upstream.port, { route: { timeouts } })
    opened.push(upstream, gateway)
    assert.match(await exchange(gateway.port, GET, /request id/), /^HTTP\/1\.1 504 /)
    assert.equal(gateway.runs[0]?.exchange.reason, 'request-timeout')
    await until('the upstream to be free', () => upstream.sockets.size === 0)
  })

  it('cuts off a response that takes too long', async () => {
    const upstream = await startUpstream((_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n')
      const timer = setInterval(() => socket.write('x'), 5)
      socket.on('close', () => clearInterval(timer))
    })
    const gateway = await startGateway(upstream.port, { route: { timeouts } })
    opened.push(upstream, gateway)
    const text = await exchange(gateway.port, GET)
    assert.match(text, /^HTTP\/1\.1 200 /)
    assert.ok(text.length < 900)
  })
})

describe('a body that a rule reads', () => {
  const readsBody = (run: RouteProgram['run']): Partial<RouteProgram> => ({ readsBody: true, run })
  const text = (body: Uint8Array | undefined) => Buffer.from(body ?? '').toString()

  for (const [title, request] of [
    ['with a length', POST],
    ['in chunks', CHUNKED],
  ] as const) {
    it(`is there before the rule runs, and reaches the upstream (${title})`, async () => {
      const upstream = await startResponses(OK)
      let seen = ''
      const route = readsBody((own) => {
        seen = text(own.request.body)
        return undefined
      })
      const gateway = await startGateway(upstream.port, { route })
      opened.push(gateway)
      assert.match(await exchange(gateway.port, request, 'hello'), /^HTTP\/1\.1 200 /)
      assert.equal(seen, 'body')
      assert.match(upstream.received.join(''), /body/)
    })
  }

  it('decides', async () => {
    const upstream = await startResponses(OK)
    const route = readsBody((own) =>
      text(own.request.body) === 'body' ? reply(403, 'authorization') : undefined,
    )
    const gateway = await startGateway(upstream.port, { route })
    opened.push(gateway)
    assert.match(await exchange(gateway.port, POST, /request id/), /^HTTP\/1\.1 403 /)
    assert.equal(upstream.received.length, 0)
  })

  it('passes complete if it does not fit and its beginning is enough', async () => {
    const size = (1 << 20) + 100_000
    let received = 0
    const upstream = await startUpstream((data, socket) => {
      received += data.length
      if (received > size) socket.write(OK)
    })
    let seen: readonly (number | undefined)[] = []
    const route: Partial<RouteProgram> = {
      readsBeginning: true,
      run: async (own) => {
        seen = [own.request.body?.length, own.bodyBeginning?.length]
        await wait(5)
        return undefined
      },
    }
    const gateway = await startGateway(upstream.port, { route })
    opened.push(upstream, gateway)
    const head = `POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: ${size}\r\n\r\n`
    const response = await exchange(
      gateway.port,
      Buffer.concat([Buffer.from(head), Buffer.alloc(size, 'x')]),
      'hello',
    )
    assert.match(response, /^HTTP\/1\.1 200 /)
    assert.deepEqual(seen, [undefined, 1 << 20])
  })
})
