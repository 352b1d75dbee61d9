import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { free } from './accepting.ts'
import { exchange, type RawUpstream, startUpstream } from './harness.ts'
import { clientOf } from './http2-peers.ts'
import { startWhole, type WholeGateway } from './whole-gateway.ts'

const RESPONSE =
  'HTTP/1.1 200 OK\r\nX-Response: Aa\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n' +
  '2\r\nhi\r\n0\r\nX-Sum: Ss\r\n\r\n'
const UPGRADED = 'HTTP/1.1 101 Ok\r\nX-Response: Aa\r\nConnection: Upgrade\r\nUpgrade: Chat\r\n\r\n'
const EARLY = 'HTTP/1.1 103 Early\r\nX-Early: Ee\r\n\r\n'

const HEAD = 'Host: A\r\nX-Mixed-CASE: Vv\r\nalready-lower: Vv\r\n'
const BODY =
  `POST /P HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\nTrailer: X-Sent\r\n\r\n` +
  '2\r\nHI\r\n0\r\nX-Sent: Tt\r\n\r\n'
const UPGRADE = `GET /P HTTP/1.1\r\n${HEAD}Connection: Upgrade\r\nUpgrade: Chat\r\n\r\n`
const OWN = `GET /own HTTP/1.1\r\n${HEAD}Connection: close\r\n\r\n`

/** Name, request, end of the response, and the lines that the backend and the client get. */
const CASES = [
  [
    'a request and its response',
    BODY,
    'X-Sum: Ss',
    ['X-Mixed-CASE: Vv', 'X-Set: Ss', 'X-Sent: Tt'],
    ['X-Early: Ee', 'X-Response: Aa', 'X-Told: Tt', 'X-Sum: Ss'],
  ],
  [
    'another protocol',
    UPGRADE,
    'X-Told: Tt\r\n(?:.+\r\n)*',
    ['X-Mixed-CASE: Vv', 'X-Set: Ss'],
    ['X-Response: Aa', 'X-Told: Tt'],
  ],
  ['a response of the gateway', OWN, 'own response', [], ['X-Own: Oo', 'X-Told: Tt']],
] as const

for (const [headerCase, written] of [
  [undefined, (line: string) => line],
  ['Preserve', (line: string) => line],
  ['Lowercase', (line: string) => line.replace(/^[^:]+/, (name) => name.toLowerCase())],
] as const) {
  describe(`names of headers, ${headerCase ?? 'by default'}`, () => {
    let upstream: RawUpstream
    let gateway: WholeGateway
    let port: number

    before(async () => {
      upstream = await startUpstream((text, socket) => {
        if (/\r\nUpgrade:|\r\nupgrade:/.test(text)) socket.write(UPGRADED)
        else if (/0\r\n(?:.+\r\n)?\r\n$|^GET .*\r\n\r\n$/s.test(text))
          socket.write(EARLY + RESPONSE)
      })
      port = await free()
      const setting = headerCase === undefined ? '' : `, http1HeaderCase: ${headerCase}`
      gateway = await startWhole(`
frontendPolicies: { http: { requestTrailers: Forward, upgrades: [chat]${setting} } }
gateways: { default: { port: ${port} } }
routes:
- name: own
  matches: [{ path: { exact: /own } }]
  policies:
    responseHeaderModifier: { set: { X-Told: Tt } }
    directResponse: { status: 200, body: own response, headers: { X-Own: "'Oo'" } }
- name: all
  policies:
    requestHeaderModifier: { set: { X-Set: Ss } }
    responseHeaderModifier: { set: { X-Told: Tt } }
  backends: [{ host: 127.0.0.1:${upstream.port} }]
`)
    })
    after(async () => {
      upstream.close()
      await gateway.stop()
    })

    for (const [what, request, end, sent, received] of CASES) {
      it(what, async () => {
        upstream.received.fill('')
        const text = await exchange(port, request, new RegExp(`${end}(?:\r\n)*$`, 'i'))
        const got = upstream.received.join('')
        for (const line of sent) assert.ok(got.includes(`\r\n${written(line)}\r\n`), got)
        for (const line of received) assert.ok(text.includes(`\r\n${written(line)}\r\n`), text)
      })
    }

    it('HTTP/2 clients get lower case; added headers follow the setting', async () => {
      upstream.received.fill('')
      const client = clientOf('h2', port)
      const { headers } = await client.ask({ headers: { 'x-mixed-case': 'Vv' } })
      client.close()
      const got = upstream.received.join('')
      assert.equal(headers['x-response'], 'Aa')
      assert.ok(
        got.includes('\r\nx-mixed-case: Vv\r\n') && got.includes(`\r\n${written('X-Set: Ss')}`),
      )
    })
  })
}
