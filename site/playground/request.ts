import { parse } from 'yaml'
import type { Variables } from '../../src/cel/index.ts'
import { parseIp } from '../../src/cel/values/ip.ts'
import type { JsonObject } from '../../src/cel/values/value.ts'
import { RequestAttributes } from '../../src/exchange/attributes.ts'
import { PlainHeaders } from '../../src/exchange/plain-headers.ts'

/** The YAML request that the pages start with. */
export const SAMPLE_REQUEST = `method: GET
path: /orders?limit=10
host: api.example.com
headers:
  x-team: orders
source: 10.0.0.7
# Claims of a token that was verified; leave them out for a request without one.
jwt:
  sub: alice
  team: orders
  scopes: [orders:read]
`

/** The variables of a request, or an error message if the request is malformed. */
export function readRequest(text: string): Variables | string {
  let value: unknown
  try {
    value = parse(text) ?? {}
  } catch (error) {
    return `The request is not valid YAML: ${(error as Error).message.split('\n', 1)[0]}`
  }
  if (typeof value !== 'object' || Array.isArray(value)) return 'The request is not a mapping.'
  const own = value as Readonly<Record<string, unknown>>
  const address = parseIp(String(own['source'] ?? '127.0.0.1'))
  if (address === undefined) return '`source` is not an IP address.'
  const [path = '/', query] = String(own['path'] ?? '/').split('?')
  const request = new RequestAttributes(
    String(own['method'] ?? 'GET'),
    path,
    query === undefined ? '' : `?${query}`,
    String(own['host'] ?? 'localhost'),
    'https',
    'HTTP/1.1',
    new PlainHeaders(headersOf(own['headers'])),
    0,
  )
  if (own['body'] !== undefined) request.body = new TextEncoder().encode(bodyOf(own['body']))
  const source = { address, port: 0, rawAddress: address, rawPort: 0 }
  const identities = ['jwt', 'apiKey', 'basicAuth', 'extauthz'].flatMap((name) =>
    own[name] === undefined ? [] : [[name, own[name] as JsonObject] as const],
  )
  return { request, source, ...Object.fromEntries(identities) } as unknown as Variables
}

/** A list of values means a header that is sent several times. */
function headersOf(value: unknown): readonly (readonly [string, string])[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, own]) =>
    (Array.isArray(own) ? own : [own]).map((one) => [name, String(one)] as const),
  )
}

function bodyOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
