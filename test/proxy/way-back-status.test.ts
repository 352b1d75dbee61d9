import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { reply } from '../../src/exchange/reply.ts'
import type { RouteProgram } from '../../src/program/program.ts'
import type { PlacedPart } from '../../src/program/way-back.ts'
import { exchange, startEcho } from './harness.ts'
import { startHttp2Gateway, type Version } from './http2-gateway.ts'
import { clientOf, startPeer } from './http2-peers.ts'

/*
 * A policy that changes the status of a response may add a body or remove it. What the client reads
 * as the next response on the same connection must be the next response.
 */

const opened: { close(): unknown }[] = []
after(() => {
  for (const one of opened.reverse()) one.close()
})

const becomes = (status: number): Partial<RouteProgram> => {
  const part: PlacedPart = {
    policy: undefined,
    response: (_, draft) => {
      if (draft.headers.get('x-last') === undefined) draft.status = status
      return undefined
    },
  }
  return { responseParts: [part] }
}

const HEADS = {
  'with a length': 'HTTP/1.1 200 OK\r\ncontent-length: 36\r\n\r\n',
  'in chunks': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n',
  'without a body': 'HTTP/1.1 204 No Content\r\n\r\n',
  'that is not modified': 'HTTP/1.1 304 Not Modified\r\netag: "a"\r\n\r\n',
} as const
/** Would be a response if it were not a body. */
const BODY = 'HTTP/1.1 299 Smuggled\r\nx-evil: 1\r\n\r\n'
const bodyOf = (how: keyof typeof HEADS) =>
  how === 'with a length'
    ? BODY
    : how === 'in chunks'
      ? `24\r\n${BODY}\r\n0\r\nx-sum: 1\r\n\r\n`
      : ''

describe('a response whose status is changed', () => {
  for (const how of Object.keys(HEADS) as (keyof typeof HEADS)[]) {
    for (const status of [200, 204, 205, 304, 404]) {
      it(`${how}, to ${status}, is followed by the next one`, async () => {
        const upstream = await startEcho(HEADS[how] + bodyOf(how))
        const gateway = await startHttp2Gateway({
          ...{ upstream: upstream.port, speaks: 'h1', route: becomes(status) },
        })
        opened.push(upstream, gateway)
        const one = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'
        const last = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
        let rest = await exchange(gateway.port, one + one + last)
        const seen: (number | string)[] = []
        while (rest !== '') {
          const [, code = '', fields = ''] =
            /^HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n([\s\S]*?\r\n)\r\n/.exec(rest) ?? []
          assert.notEqual(code, '', JSON.stringify(rest))
          rest = rest.slice(rest.indexOf('\r\n\r\n') + 4)
          const { length, more } = framedBy(Number(code), fields, rest)
          seen.push(Number(code), length)
          rest = more
        }
        const hasBody = bodyOf(how) !== '' && ![204, 205, 304].includes(status)
        const each = [status, hasBody ? BODY.length : 0]
        assert.deepEqual(seen, [...each, ...each, ...each])
      })
    }
  }

  for (const [front, back] of [
    ['h2', 'h1'],
    ['h2', 'h2'],
    ['h1', 'h2'],
  ] as const satisfies (readonly [Version, Version])[]) {
    it(`has the body of its new status, ${front} to ${back}`, async () => {
      for (const [from, to] of [
        [200, 204],
        [200, 304],
        [200, 205],
        [204, 200],
        [304, 404],
      ] as const) {
        const peer = await startPeer(back, (_, response) => {
          response.writeHead(from)
          response.end(from === 200 ? BODY : undefined)
        })
        const gateway = await startHttp2Gateway({
          ...{ upstream: peer.port, speaks: back, route: becomes(to) },
        })
        const client = clientOf(front, gateway.port)
        opened.push(peer, gateway, client)
        for (let i = 0; i < 2; i++) {
          const { status, body } = await client.ask({})
          assert.deepEqual([status, body.length], [to, 0], `${from} ${to}`)
        }
      }
    })
  }

  it('finishes immediately, even if the backend never does', async () => {
    const peer = await startPeer('h1', (_, response) => response.write('forever'))
    const gateway = await startHttp2Gateway({
      ...{ upstream: peer.port, speaks: 'h1', route: becomes(204) },
    })
    opened.push(peer, gateway)
    for (const version of ['h1', 'h2'] as const) {
      const client = clientOf(version, gateway.port)
      opened.push(client)
      assert.equal((await client.ask({})).status, 204)
    }
  })

  it('of the gateway itself has no content with status 205', async () => {
    const gateway = await startHttp2Gateway({
      ...{ upstream: 1, speaks: 'h1' },
      route: { run: () => reply(403, 'authorization'), ...becomes(205) },
    })
    opened.push(gateway)
    const ask = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
    const text = await exchange(gateway.port, ask)
    assert.match(text, /^HTTP\/1\.1 205 [\s\S]*content-length: 0\r\n[\s\S]*\r\n\r\n$/)
  })
})

/** RFC 9112 §6.3, without cases that the gateway never writes. */
function framedBy(status: number, fields: string, rest: string): { length: number; more: string } {
  if (status === 204 || status === 304) return { length: 0, more: rest }
  if (/^transfer-encoding: chunked\r$/m.test(fields)) {
    const [whole = '', size = ''] =
      /^([0-9a-f]+)\r\n[\s\S]*?\r\n0\r\n(?:[^\r\n]+\r\n)*\r\n/.exec(rest) ?? []
    return { length: Number.parseInt(size, 16), more: rest.slice(whole.length) }
  }
  const [, length] = /^content-length: (\d+)\r$/m.exec(fields) ?? assert.fail(fields)
  return { length: Number(length), more: rest.slice(Number(length)) }
}
