import type { Attribute, Decision } from '../api/shapes.ts'

/** Builds a file for `portcullis test` from the request attributes that the records contain. */
export function testFileOf(decisions: readonly Decision[]): string {
  const [first] = decisions
  if (first === undefined) return ''
  const { method = 'GET', path = '/', host, source, route } = first
  const denial = decisions.find(({ verdict, enforced }) => verdict === 'denied' && enforced)
  const attributes = decisions.flatMap((one) => one.attributes)
  const headers = named(attributes, /^request\.headers(?:\['([^']+)'\]|\.([a-zA-Z_][\w]*))$/)
  const claims = named(attributes, /^jwt\.([\w.]+)$/)
  const withheld = attributes.filter(({ state }) => state !== 'shown' && state !== 'unset')
  const address = source.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
  return [
    `name: ${quote(`${method} ${path}${route === undefined ? '' : ` on ${route}`}`)}`,
    'config: gateway.yaml # the file of the gateway',
    'requests:',
    `  - method: ${quote(method)}`,
    `    path: ${quote(path)}`,
    ...(host === undefined ? [] : [`    host: ${quote(host)}`]),
    ...(address === '127.0.0.1' ? [] : [`    from: ${quote(address)}`]),
    ...mapping('headers', headers),
    ...mapping('as', claims),
    ...withheld.map(({ name, state }) => `    # ${oneLine(name)} is ${oneLine(state)}: set it`),
    `    expect: ${denial?.status ?? first.status ?? 200}`,
    '',
  ].join('\n')
}

function named(attributes: readonly Attribute[], form: RegExp): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>()
  for (const { name, state, value } of attributes) {
    const [, first, second] = form.exec(name) ?? []
    const key = first ?? second
    if (key !== undefined && state === 'shown') found.set(key, value)
  }
  return found
}

function mapping(key: string, entries: ReadonlyMap<string, unknown>): readonly string[] {
  if (entries.size === 0) return []
  const lines = [...entries].map(([name, value]) => `      ${quote(name)}: ${quote(value)}`)
  return [`    ${key}:`, ...lines]
}

/** Quotes a value as JSON, which is valid YAML and which client input cannot break out of. */
function quote(value: unknown): string {
  return JSON.stringify(value)
}

function oneLine(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?')
}
