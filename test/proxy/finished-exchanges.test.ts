import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { startHttp2Gateway, type Version } from './http2-gateway.ts'
import { clientOf, type PeerRequest, startPeer } from './http2-peers.ts'
import { until } from './whole-gateway.ts'

/*
 * Every exchange in progress is in the list of deadlines, which is scanned several times a second.
 * An entry that stays there after its exchange costs memory and time until its deadline.
 */

const REQUESTS = 40

const opened: { close: () => unknown }[] = []
after(() => opened.forEach((own) => void own.close()))

/** Larger than the window of a stream, so that the end of the response has to wait. */
const LARGE = Buffer.alloc(200_000, 'x')

const KINDS: ReadonlyMap<string, PeerRequest> = new Map([
  ['no bodies', { path: '/none' }],
  ['a small response', { path: '/small' }],
  ['a response that waits for its window', { path: '/large' }],
  ['trailers', { path: '/trailers' }],
  ['a small upload', { method: 'POST', path: '/small', body: Buffer.from('hello') }],
  ['a large upload', { method: 'POST', path: '/small', body: LARGE }],
  ['an upload nobody reads', { method: 'POST', path: '/early', body: Buffer.from('hello') }],
])

for (const client of ['h1', 'h2'] as const) {
  for (const upstream of ['h1', 'h2'] as const) {
    describe(`clients of ${client}, backends of ${upstream}`, () => {
      for (const [name, ask] of KINDS) {
        it(`${name}: nothing is left of exchanges that are over`, () =>
          leftOf(client, upstream, ask))
      }
    })
  }
}

async function leftOf(client: Version, upstream: Version, ask: PeerRequest): Promise<void> {
  const peer = await startPeer(upstream, (request, response) => {
    request.on('error', () => {})
    if (request.url === '/early') respond(response, request.url)
    request.resume().on('end', () => {
      if (request.url !== '/early') respond(response, request.url ?? '')
    })
  })
  const gateway = await startHttp2Gateway({ upstream: peer.port, speaks: upstream })
  const own = clientOf(client, gateway.port)
  opened.push(gateway, peer, own)
  await own.ask(ask)
  const { deadlines, runs } = gateway
  for (let n = 1; n < REQUESTS; n += 8) {
    await Promise.all(Array.from({ length: 8 }, () => own.ask(ask)))
  }
  await until('the last one to be over', () => runs.length > REQUESTS)
  // Some entries belong to connections, of which there are as many as concurrent requests. A leaked
  // entry stays for its write timeout, which is far longer than this waits.
  const isEmpty = () => deadlines.size <= 2 * 8 + 2
  for (let turn = 0; turn < 250 && !isEmpty(); turn++) await wait(20)
  assert.ok(isEmpty(), `${deadlines.size} deadlines are left of ${runs.length} requests`)
}

function respond(response: ServerResponse, path: string): void {
  if (path === '/none') response.writeHead(204)
  if (path === '/trailers') {
    response.setHeader('trailer', 'x-sum')
    response.write('hello')
    response.addTrailers({ 'x-sum': '5' })
  }
  response.end(path === '/large' ? LARGE : path === '/none' ? undefined : 'hello')
}
