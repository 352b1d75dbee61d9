import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import type { DecisionRecord } from '../../src/telemetry/decision-record.ts'
import { NEAREST, type Rejecting, sendRaw, startRejecting } from '../decisions/rejecting.ts'
import { assertProperty } from './assert-property.ts'
import { fuzz } from './runs.ts'

/** The causes that a request to a route can meet, besides those of a malformed request. */
const CAUSES: Readonly<Record<string, readonly string[]>> = {
  open: [],
  rules: ['matched'],
  limited: ['rate-limit'],
  preflight: ['cors-preflight'],
  own: ['direct-response'],
  'broken-own': ['expression-failed'],
  read: ['error'],
  nearest: ['no-allow-match'],
  token: ['credentials'],
  csrf: ['cross-site'],
  service: ['credentials'],
  processor: ['external-processing'],
  picked: ['endpoint-picker'],
  credential: ['backend-auth'],
  weightless: ['no-backend'],
  dead: ['upstream-connect'],
  reset: ['upstream-reset'],
  garbage: ['upstream-invalid'],
  missing: ['invalid-backend'],
  broken: ['invalid-policy'],
  unread: ['authorization', 'upstream-connect', 'matched'],
  mcp: ['no-allow-match', 'authorization', 'csrf'],
  none: ['invalid-configuration', 'no-route'],
  'v1/chat/completions': ['authorization', 'rate-limit', 'no-backend', 'no-route'],
  'v1/messages': ['authorization', 'rate-limit', 'no-backend', 'no-route'],
}

/** What any request can be rejected for, before or instead of everything else. */
const ALWAYS = ['bad-request', 'too-large', 'body-timeout', 'invalid-configuration']

const NAMES: readonly string[] = [
  'x-a: 1',
  'x-b: 1',
  'x-a: 2',
  'origin: https://evil.test',
  'access-control-request-method: GET',
  'sec-fetch-site: cross-site',
  'authorization: Bearer sk-narrow',
  'authorization: Bearer sk-a',
  'content-type: application/json',
  'accept: application/json, text/event-stream',
  'mcp-protocol-version: 2025-06-18',
  'x-user: a',
  'x-dollars: a',
]

/** Lines that no request may have, or not together with the others. */
const MALFORMED: readonly string[] = [
  'x_a: 1',
  'transfer-encoding: chunked',
  'expect: something',
  'bad header: 1',
  `x-long: ${'x'.repeat(70_000)}`,
]

const BODIES: readonly string[] = [
  '',
  '{',
  'y'.repeat(2_000),
  '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"name":"x"}}}',
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"unknown"}}',
  '{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
  '{"jsonrpc":"2.0","id":1,"method":"no/such"}',
  '[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]',
  '{"model":"gpt-x","messages":[{"role":"user","content":"hello"}]}',
  '{"model":"gpt-x","messages":[{"role":"user","content":"forbidden"}]}',
  '{"model":"free","messages":[{"role":"user","content":"hello"}],"max_tokens":1}',
  '{"model":"none","messages":[{"role":"user","content":"hello"}]}',
]

/** Mostly the first: a malformed request says nothing about policies. */
const mostly = (usual: string, ...others: readonly string[]) =>
  fc.oneof({ arbitrary: fc.constant(usual), weight: 12 }, fc.constantFrom(...others))

const drawn = fc.record({
  method: fc.oneof(
    { arbitrary: fc.constantFrom('GET', 'POST', 'PUT'), weight: 12 },
    fc.constantFrom('OPTIONS', 'HEAD', 'CONNECT', 'get'),
  ),
  route: fc.oneof(
    { arbitrary: fc.constantFrom(...Object.keys(CAUSES)), weight: 4 },
    fc.constantFrom('nearest', 'mcp', 'limited'),
  ),
  rest: fc.oneof(
    { arbitrary: fc.constantFrom('', '', '/deep'), weight: 12 },
    fc.constantFrom('/%2F', '/../x', '?a=%', '/\u0001', '/%zz'),
  ),
  host: mostly('host: a.test\r\n', '', 'host: a\r\nhost: b\r\n'),
  headers: fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 5 }),
  broken: mostly('', ...MALFORMED),
  body: fc.constantFrom(...BODIES),
  to: mostly('default', 'models', 'empty'),
})

type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never

function textOf({ method, route, rest, host, headers, broken, body }: Drawn): string {
  const length = body === '' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`
  const own = broken === '' ? headers : [...headers, broken]
  const lines = own.map((one) => `${one}\r\n`).join('')
  const head = `${method} /${route}${rest} HTTP/1.1\r\n${host}connection: close\r\n${lines}${length}`
  return `${head}\r\n${body}`
}

/** The rule that is nearest, by the definition: subjects, then misses, then hits, then order. */
function nearestOf({ method, rest, headers }: Drawn): number {
  const holds = (atom: string): boolean => {
    if (atom.startsWith('request.method')) return method === 'PUT'
    if (atom.startsWith('request.path')) return rest.startsWith('/deep')
    const [, name] = /\['(x-[ab])'\]/.exec(atom) ?? []
    return name !== undefined && headers.includes(`${name}: 1`)
  }
  const ranks = NEAREST.map((atoms) => {
    const misses = atoms.filter((atom) => !holds(atom))
    const isOther = misses.some((atom) => /^request\.(?:method|path)/.test(atom))
    return [isOther ? 1 : 0, misses.length, misses.length - atoms.length]
  })
  const isLess = (a: readonly number[], b: readonly number[]) => {
    const at = a.findIndex((value, index) => value !== b[index])
    return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0)
  }
  return ranks.reduce((best, rank, at) => (isLess(rank, ranks[best] ?? []) ? at : best), 0)
}

const isMade = ({ skipped, enforced, verdict }: DecisionRecord) =>
  skipped !== true && enforced && verdict !== 'allowed'

describe('a rejection of the gateway', () => {
  let gateway: Rejecting

  before(async () => {
    gateway = await startRejecting()
  })

  after(() => gateway.close())

  it('has one record, with the id and the status of the response and a cause that is true', async () => {
    await assertProperty(
      'rejections',
      fc.asyncProperty(drawn, async (one) => {
        const text = await sendRaw(gateway.ports[one.to as 'default'], textOf(one))
        // Bytes of another protocol get no response.
        if (text === '') return
        const status = Number(text.slice(9, 12))
        const [head = '', ...rest] = text.split('\r\n\r\n')
        const id = /^x-request-id: (.+)$/im.exec(head)?.[1] ?? assert.fail(`no id: ${text}`)
        const records = gateway.own.decisions({ id })
        const [made, ...more] = records.filter(isMade)
        assert.deepEqual(more, [], 'one record')
        const line = gateway.own.lines.findLast((own) => own.includes(id)) ?? ''
        const isOfBackend = / reason=upstream\b/.test(line) && made === undefined
        const isError = /^\{"jsonrpc":"2.0","id":[^,]+,"error"/.test(rest.join('\r\n\r\n'))
        if (status < 400 && !isError) {
          const isOther = made === undefined || made.cause === 'cors-preflight'
          assert.ok(isOther, 'no record of a denial for a response that does not reject')
          return
        }
        // A status of a server, in the words of the gateway, is still the server's.
        if (isOfBackend && (status >= 400 || !isError)) return
        const { status: recorded, cause, nearest } = made ?? assert.fail(`no record: ${text}`)
        assert.equal(recorded, status)
        const causes = [...ALWAYS, ...(CAUSES[one.route] ?? []), ...elsewhere(one)]
        assert.ok(causes.includes(cause), `${cause} is none of ${causes}`)
        if (one.route === 'nearest' && cause === 'no-allow-match') {
          assert.equal(nearest?.index, nearestOf(one))
        }
      }),
      fuzz(0.5),
    )
  })
})

/** Other ports have other routes. */
function elsewhere({ to, rest }: Drawn): readonly string[] {
  if (to !== 'default' || rest === '/../x') return ['no-route', 'no-backend', 'authorization']
  return []
}
