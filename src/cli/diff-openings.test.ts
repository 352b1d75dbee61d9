import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'diff-openings-'))
after(() => rmSync(FOLDER, { recursive: true }))

interface Opened {
  readonly kind: string
  readonly example: { readonly proxyHeader?: string; readonly method: string }
}

/** Compares two values of `proxyProtocol`; an empty string omits the policy. */
async function opened(old: string, now: string, rule = '', listener = 'protocol: HTTP') {
  const policies = rule === '' ? '' : `policies: { authorization: { rules: [${rule}] } }, `
  const file = (name: string, own: string) => {
    const path = join(FOLDER, `${name}.yaml`)
    const frontend = own === '' ? '' : `frontendPolicies: { proxyProtocol: { ${own} } }\n`
    const route = listener.includes('TCP')
      ? `tcpRoutes: [{ name: api, backends: [{ host: 'a:80' }] }]\n`
      : `routes: [{ name: api, ${policies}backends: [{ host: 'a:80' }] }]\n`
    writeFileSync(path, `gateways: { default: { port: 8080, ${listener} } }\n${frontend}${route}`)
    return path
  }
  const { out } = await runWith(['diff', file('old', old), file('new', now), '--json'])
  const { differences, untold } = JSON.parse(out) as {
    readonly differences: readonly Opened[]
    readonly untold: readonly { readonly why: string }[]
  }
  const shown = differences.map(({ kind, example: { proxyHeader, method } }) =>
    [kind, proxyHeader, ...(method === 'PROXY' ? ['method PROXY'] : [])].join(' '),
  )
  return { shown, untold: untold.map(({ why }) => why) }
}

const NONE = ''
const V1 = 'version: V1'
const V2 = 'version: V2'
const ALL = 'version: All'
const OPTIONAL = `mode: Optional, ${V2}`
const OPTIONAL_ALL = `mode: Optional, ${ALL}`

describe('PROXY protocol changes, in portcullis diff', () => {
  for (const [title, old, now, shown] of [
    ['another version is read', V2, ALL, ['admitted V1']],
    ['a version is no longer read', ALL, V1, ['refused V2']],
    ['one version in place of another', V1, V2, ['admitted V2', 'refused V1']],
    ['headers become optional', V2, OPTIONAL, ['admitted None']],
    ['headers become required', OPTIONAL, V2, ['refused None']],
    ['headers are no longer read', V2, NONE, ['admitted None', 'refused V2']],
    ['headers are read if they are there', NONE, OPTIONAL, ['admitted V2']],
    [
      'a method is taken for a header',
      OPTIONAL,
      OPTIONAL_ALL,
      ['admitted V1', 'refused None method PROXY'],
    ],
    ['nothing changes', V2, `mode: Strict, ${V2}`, []],
  ] as const) {
    it(`is shown by an example: ${title}`, async () => {
      const found = await opened(old, now)
      assert.deepEqual(found.shown, shown)
      assert.deepEqual(found.untold, [])
    })
  }

  it('changes nothing if no client is admitted', async () => {
    assert.deepEqual(await opened(V2, ALL, '{ deny: "true" }'), { shown: [], untold: [] })
  })

  it('counts a method as a PROXY header only if it is admitted, and not within TLS', async () => {
    const rule = `{ allow: "request.method == 'GET'" }`
    assert.deepEqual((await opened(OPTIONAL, OPTIONAL_ALL, rule)).shown, ['admitted V1'])
    const tls = 'tls: { cert: { inline: c }, key: { inline: k } }'
    assert.deepEqual((await opened(OPTIONAL, OPTIONAL_ALL, '', tls)).shown, ['admitted V1'])
  })

  it('compares source rules for connections that begin alike', async () => {
    const rule = `{ allow: "cidr('10.0.0.0/8').containsIP(source.address)" }`
    const found = await opened(V2, ALL, rule)
    assert.deepEqual(found, { shown: ['admitted V1'], untold: [] })
  })

  it('treats what is not read as data for protocols other than HTTP', async () => {
    const plain = await opened(V2, OPTIONAL, '', 'protocol: TCP')
    assert.deepEqual(plain, { shown: ['admitted None', 'admitted V1'], untold: [] })
    const back = await opened(OPTIONAL, V2, '', 'protocol: TCP')
    assert.deepEqual(back, { shown: ['refused None', 'refused V1'], untold: [] })
  })

  /** Connections with a rule about their source. */
  async function openedFrom(old: string, now: string, protocol: 'TCP' | 'TLS') {
    const rule = `{ allow: "cidr('10.0.0.0/8').containsIP(source.address)" }`
    const file = (name: string, own: string) => {
      const path = join(FOLDER, `${name}.yaml`)
      writeFileSync(
        path,
        `gateways: { default: { port: 8080, protocol: ${protocol} } }
frontendPolicies:
  networkAuthorization: { rules: [${rule}] }
${own === '' ? '' : `  proxyProtocol: { ${own} }`}
tcpRoutes: [{ name: api, backends: [{ host: 'a:80' }] }]
`,
      )
      return path
    }
    const { out } = await runWith(['diff', file('old', old), file('now', now), '--json'])
    const { differences, untold } = JSON.parse(out) as {
      readonly differences: readonly Opened[]
      readonly untold: readonly { readonly kind: string; readonly why: string }[]
    }
    const shown = differences.map(({ kind, example: { proxyHeader } }) => `${kind} ${proxyHeader}`)
    return { shown, untold: untold.map(({ kind, why }) => `${kind}: ${why}`) }
  }

  for (const [old, now, shown] of [
    [V2, ALL, ['admitted V1']],
    [V2, OPTIONAL, ['admitted None']],
    [V2, NONE, ['admitted None', 'refused V2']],
    [NONE, OPTIONAL_ALL, ['admitted V2', 'admitted V1']],
  ] as const) {
    it(`compares rules about the source of TLS connections: ${old} and ${now}`, async () => {
      assert.deepEqual(await openedFrom(old, now, 'TLS'), { shown, untold: [] })
    })
  }

  it('does not compare the source in a header with one from a header that is data', async () => {
    const read = await openedFrom(OPTIONAL, OPTIONAL_ALL, 'TCP')
    assert.deepEqual(read.shown, [])
    assert.equal(read.untold.length, 2)
    for (const why of read.untold) assert.match(why, /another source from the same PROXY header/)
    const strict = await openedFrom(V2, ALL, 'TCP')
    assert.deepEqual(strict, { shown: ['admitted V1'], untold: [] })
  })
})
