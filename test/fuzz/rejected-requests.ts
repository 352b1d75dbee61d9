import fc from 'fast-check'
import type { Rejecting } from '../decisions/rejecting.ts'

const CALL = ['credentials', 'authorization', 'rate-limit', 'no-backend', 'no-route']

/** The causes that a request to a route can meet, besides those of a malformed request. */
export const CAUSES: Readonly<Record<string, readonly string[]>> = {
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
  'v1/chat/completions': CALL,
  'v1/messages': CALL,
}

/** What any request can be rejected for, before or instead of everything else. */
export const ALWAYS = ['bad-request', 'too-large', 'body-timeout', 'invalid-configuration']

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
const mostly = <T extends string>(usual: T, ...others: readonly T[]) =>
  fc.oneof({ arbitrary: fc.constant(usual), weight: 12 }, fc.constantFrom(...others))

const parts = fc.record({
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
  isCall: fc.boolean(),
  to: mostly<keyof Rejecting['ports']>('default', 'models', 'empty'),
})

export type Drawn = typeof parts extends fc.Arbitrary<infer T> ? T : never

const CALL_HEADERS = [
  'content-type: application/json',
  'accept: application/json, text/event-stream',
]

/** Requests that a gateway of ../decisions/rejecting.ts mostly rejects; half of the calls are whole. */
export const drawn: fc.Arbitrary<Drawn> = parts.map((request) => {
  const isOfModel = request.route.startsWith('v1/')
  if (!request.isCall || !(isOfModel || request.route === 'mcp')) return request
  const headers = [...new Set([...request.headers, ...CALL_HEADERS])]
  const whole = { method: 'POST', rest: '', broken: '', headers } as const
  return { ...request, ...whole, to: isOfModel ? 'models' : 'default' }
})

/** The bytes of the request. */
export function textOf({ method, route, rest, host, headers, broken, body }: Drawn): string {
  const length = body === '' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`
  const fields = broken === '' ? headers : [...headers, broken]
  const lines = fields.map((field) => `${field}\r\n`).join('')
  const head = `${method} /${route}${rest} HTTP/1.1\r\n${host}connection: close\r\n${lines}${length}`
  return `${head}\r\n${body}`
}
