import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { free } from './accepting.ts'
import { type RawUpstream, startUpstream } from './harness.ts'
import { startWhole, type WholeGateway } from './whole-gateway.ts'

const EVIL = '{"model": "forbidden"}'
const GOOD = '{"model": "harmless"}'

describe('a rule that reads a body decodes its Content-Encoding', () => {
  let upstream: RawUpstream
  let gateway: WholeGateway
  let port: number

  before(async () => {
    upstream = await startUpstream((text, socket) => {
      if (text.includes('\r\n\r\n')) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    })
    port = await free()
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
frontendPolicies: { http: { maxBufferSize: 1000 } }
routes:
- name: text
  matches: [{ path: { pathPrefix: /text } }]
  policies: { authorization: { rules: [{ deny: "string(request.body).contains('forbidden')" }] } }
  backends: [{ host: 127.0.0.1:${upstream.port} }]
- name: json
  matches: [{ path: { pathPrefix: /json } }]
  policies: { authorization: { rules: [{ deny: "json(request.body).model == 'forbidden'" }] } }
  backends: [{ host: 127.0.0.1:${upstream.port} }]
- name: rest
  backends: [{ host: 127.0.0.1:${upstream.port} }]
`)
  })

  after(async () => {
    await gateway.stop()
    upstream.close()
  })

  const post = async (path: string, body: Uint8Array | string, encoding?: string) => {
    const headers: Record<string, string> = encoding ? { 'content-encoding': encoding } : {}
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      body: body as string,
      headers,
    })
    await response.arrayBuffer()
    return response
  }

  const codings = [
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['GZip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
    ['identity', (text: string) => text],
  ] as const
  for (const [coding, encode] of codings) {
    for (const path of ['/text', '/json']) {
      it(`${path}, ${coding}: what is forbidden is denied, the rest goes on as it came`, async () => {
        assert.equal((await post(path, encode(EVIL), coding)).status, 403)
        upstream.received.length = 0
        const body = encode(GOOD)
        assert.equal((await post(path, body, coding)).status, 200)
        const sent = upstream.received.join('')
        assert.match(sent, RegExp(`content-encoding: ${coding}\r\n`, 'i'))
        assert.match(sent, RegExp(`content-length: ${body.length}\r\n`))
      })
    }
  }

  for (const [what, body, coding, status] of [
    ['a coding that is not known', EVIL, 'compress', 415],
    ['two codings', gzipSync(gzipSync(EVIL)), 'gzip, gzip', 415],
    ['what is not of its coding', EVIL, 'gzip', 400],
    ['what is cut off', gzipSync(GOOD).subarray(0, 20), 'gzip', 400],
    ['what becomes too long', gzipSync('x'.repeat(100_000)), 'gzip', 413],
    ['what is no UTF-8', Buffer.from([0xff, ...Buffer.from('forbidden')]), undefined, 403],
  ] as const) {
    it(`${what}: ${status}, and the backend never sees it`, async () => {
      upstream.received.length = 0
      assert.equal((await post('/text', body, coding)).status, status)
      assert.deepEqual(upstream.received, [])
    })
  }

  it('lists the supported codings', async () => {
    const { headers } = await post('/text', EVIL, 'compress')
    assert.equal(headers.get('accept-encoding'), 'gzip, deflate, br, zstd')
  })

  it('a body that no rule reads may have any coding', async () => {
    assert.equal((await post('/rest', EVIL, 'compress')).status, 200)
  })

  for (const [what, body] of [
    ['names a member twice', '{"model": "forbidden", "model": "harmless"}'],
    ['names one twice below', '{"model": "forbidden", "a": [{"b": 1, "\\u0062": 2}]}'],
    [
      'is deeper than values may be',
      `{"model": "forbidden", "a": ${'['.repeat(250)}${']'.repeat(250)}}`,
    ],
    ['has half a pair', '{"model": "forbidden", "a": "\\ud800"}'],
    [
      'is no UTF-8',
      Buffer.concat([
        Buffer.from('{"model": "forbidden", "a": "'),
        Buffer.from([0xff]),
        Buffer.from('"}'),
      ]),
    ],
  ] as const) {
    it(`JSON that ${what} does not pass a Deny rule`, async () => {
      assert.equal((await post('/json', body)).status, 403)
    })
  }
})
