import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import type { Suggestions } from '../analysis/suggest/suggest.ts'
import type { DecisionRecord } from '../telemetry/decision-record.ts'
import { recordedWhile } from './fixtures/recording-gateway.ts'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'suggest-'))
after(() => rmSync(FOLDER, { recursive: true }))

interface Sent {
  readonly method: string
  readonly path: string
  /** If undefined, no token is sent. */
  readonly group?: string | undefined
  readonly roles?: readonly string[]
  readonly team?: string | undefined
}

function config(rules: readonly object[], above: readonly object[] = []): string {
  const gateway = {
    port: 8080,
    ...(above.length === 0 ? {} : { policies: { authorization: { rules: above } } }),
  }
  return JSON.stringify({
    gateways: { default: gateway },
    routes: [
      {
        name: 'api',
        policies: {
          jwtAuthentication: { issuer: 'https://i.example', jwks: { inline: '{"keys":[]}' } },
          ...(rules.length === 0 ? {} : { authorization: { rules } }),
        },
        backends: [{ host: 'a:80' }],
      },
    ],
  })
}

/** The responses of a gateway with this configuration, and its records. */
async function served(text: string, requests: readonly Sent[]) {
  const statuses: number[] = []
  const records = await recordedWhile(text, ['jwt', 'request'], async (origin, tokens) => {
    for (const { method, path, group, roles, team } of requests) {
      const claims = { iss: 'https://i.example', sub: 'a', group, roles }
      const authorization = `Bearer ${tokens.make(claims, 'valid')}`
      const headers = {
        connection: 'close',
        ...(group === undefined ? {} : { authorization }),
        ...(team === undefined ? {} : { 'x-team': team }),
      }
      const reply = await fetch(`${origin}${path}`, { method, headers })
      await reply.text()
      statuses.push(reply.status)
    }
  })
  return { records, statuses }
}

function file(name: string, text: string): string {
  const path = join(FOLDER, name)
  writeFileSync(path, text)
  return path
}

async function suggested(text: string, records: readonly DecisionRecord[]) {
  const lines = `${records.map((record) => JSON.stringify(record)).join('\n')}\n`
  const args = ['--decisions', file('decisions.jsonl', lines), '-f', file('gateway.json', text)]
  const { code, out, err } = await runWith(['suggest', ...args, '--json'])
  const { out: words } = await runWith(['suggest', ...args])
  return { code, err, words, found: (out === '' ? undefined : JSON.parse(out)) as Suggestions }
}

const get = (path: string, more: Partial<Sent> = {}): Sent => ({
  method: 'GET',
  path,
  group: 'eng',
  ...more,
})

describe('portcullis suggest', () => {
  it('admits the recorded methods and paths, and reports what it would deny', async () => {
    const open = config([{ deny: "request.path == '/never'" }])
    const { records, statuses } = await served(open, [
      get('/orders/1'),
      get('/orders/2?page=3'),
      get('/health'),
      get('/orders', { method: 'POST' }),
      get('/orders', { group: undefined }),
    ])
    assert.deepEqual(statuses, [200, 200, 200, 200, 401])
    const { code, found, words } = await suggested(open, records)
    assert.equal(code, 0)
    const [api] = found.suggestions
    assert.deepEqual(
      api?.rules.map(({ expression, admits, denies }) => [expression, admits, denies]),
      [
        [
          "request.method == 'GET' && (request.path == '/health' || request.path.matches('^/orders/[^/]+$'))",
          3,
          2,
        ],
        ["request.method == 'POST' && request.path == '/orders'", 1, 4],
      ],
    )
    assert.deepEqual([api?.admitted, api?.denied, api?.tightens], [4, 1, 'yes'])
    for (const { wouldDeny } of api?.rules ?? []) assert.ok(wouldDeny.length > 0)
    assert.match(words, /- allow: "request\.method == 'GET' && /)
    assert.match(words, /# would deny this request, which is admitted now:\n {6}# {3}/)
  })

  it('keeps Deny and Require rules, and replaces Allow rules that admit more', async () => {
    const rules = [
      { allow: "jwt.group in ['eng', 'ops'] || 'x' in jwt.roles" },
      { deny: "request.path.startsWith('/admin')" },
    ]
    const { records } = await served(config(rules), [
      get('/a', { roles: ['dev', 'on-call'] }),
      get('/b', { roles: ['on-call', 'lead'] }),
      get('/admin'),
      get('/a', { group: 'sales', roles: [] }),
    ])
    const { found } = await suggested(config(rules), records)
    const [api] = found.suggestions
    assert.deepEqual(api?.replaces, [rules[0]?.allow])
    assert.deepEqual(
      api?.rules.map(({ expression }) => expression),
      [
        "request.method == 'GET' && request.path in ['/a', '/b'] && jwt.group == 'eng' && 'on-call' in jwt.roles",
      ],
    )
    assert.deepEqual([api?.admitted, api?.denied], [2, 2])
  })

  it('reports that rules above still admit the same', async () => {
    const text = config([], [{ allow: 'true' }])
    const { records } = await served(text, [get('/a')])
    const { found, words } = await suggested(text, records)
    assert.equal(found.suggestions[0]?.tightens, 'no')
    assert.match(words, /They do not deny any request that is admitted now/)
  })

  it('keeps the replaced rules as a condition if they read what is not recorded', async () => {
    const rules = [{ allow: "request.query == ''" }]
    const requests = [get('/a'), get('/b'), get('/a?q=1')]
    const { records, statuses } = await served(config(rules), requests)
    assert.deepEqual(statuses, [200, 200, 403])
    const { found } = await suggested(config(rules), records)
    const [api] = found.suggestions
    const own = api?.rules.map(({ expression }) => ({ allow: expression })) ?? []
    assert.deepEqual(own, [
      { allow: "(request.query == '') && request.method == 'GET' && request.path in ['/a', '/b']" },
    ])
    assert.equal(api?.tightens, 'yes')
    assert.deepEqual((await served(config(own), requests)).statuses, statuses)
  })

  it('does not replace rules by others that admit what no record shows to be denied', async () => {
    const rules = [{ allow: "jwt.group == 'eng' || 'lead' in jwt.roles" }]
    const { records } = await served(config(rules), [
      get('/a'),
      get('/a', { group: 'ops', roles: ['lead'] }),
      get('/b', { roles: ['dev'] }),
    ])
    const { found } = await suggested(config(rules), records)
    const own = found.suggestions[0]?.rules.map(({ expression }) => ({ allow: expression })) ?? []
    assert.ok(own.length > 0)
    const attempt = [get('/a', { group: 'ops', roles: ['dev'] })]
    assert.deepEqual((await served(config(own), attempt)).statuses, [403])
  })

  it('adds no Allow rule that widens the Allow rules of the gateway', async () => {
    const above = [{ allow: "request.query == ''" }]
    const text = config([{ deny: "request.path == '/never'" }], above)
    const { records } = await served(text, [get('/a')])
    const { code, found, words } = await suggested(text, records)
    assert.equal(code, 1)
    assert.deepEqual(found.suggestions, [])
    assert.match(words, /no set of rules is proven to admit only requests that are admitted now/)
  })

  it('suggests nothing without an admitted request, or for a removed route', async () => {
    const denying = config([{ deny: 'true' }])
    const { records } = await served(denying, [get('/a')])
    const { code, found, words } = await suggested(denying, records)
    assert.equal(code, 1)
    assert.deepEqual(found.suggestions, [])
    assert.match(words, /no suggestion: no admitted requests are recorded/)
    const gone = await suggested(denying.replace('"api"', '"other"'), records)
    assert.match(gone.words, /no suggestion: the configuration does not contain this route/)
  })

  it('quotes client input', async () => {
    const rules = [{ allow: "request.headers['x-team'] != '' && jwt.group != ''" }]
    const sent = get("/it's/$a.b+c", { team: `a'b\\"c`, group: "o'hara\n\u00fc" })
    const { records, statuses } = await served(config(rules), [sent])
    assert.deepEqual(statuses, [200])
    const { found } = await suggested(config(rules), records)
    const own = found.suggestions[0]?.rules.map(({ expression }) => ({ allow: expression })) ?? []
    assert.equal(own.length, 1)
    assert.deepEqual((await served(config(own), [sent])).statuses, [200])
  })

  it('reproduces all recorded decisions and admits nothing more, whatever the rules', async () => {
    const sent: fc.Arbitrary<Sent> = fc.record({
      method: fc.constantFrom('GET', 'DELETE'),
      path: fc.constantFrom('/', '/a', '/a?q', '/a/1', '/a/22', '/a/x.y', '/b/1', '/z%20z'),
      group: fc.constantFrom('eng', 'ops', 'sales', undefined),
      roles: fc.subarray(['dev', 'lead', 'on-call']),
      team: fc.constantFrom('blue', 'red', undefined),
    })
    const rule = fc.constantFrom<object>(
      { allow: "jwt.group == 'eng'" },
      { allow: "'lead' in jwt.roles && request.method != 'DELETE'" },
      { allow: "request.headers['x-team'] == 'blue'" },
      { allow: "request.query == ''" },
      { deny: "request.path.startsWith('/b')" },
      { deny: "request.method == 'DELETE' && jwt.group == 'ops'" },
      { require: "request.headers['x-team'] in ['blue', 'red']" },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(rule, { minLength: 1, maxLength: 3 }),
        fc.option(fc.constantFrom("request.query == ''", "jwt.group == 'ops'", 'true')),
        fc.array(sent, { minLength: 1, maxLength: 12 }),
        fc.array(sent, { maxLength: 12 }),
        async (rules, allowed, requests, others) => {
          const above = allowed === null ? [] : [{ allow: allowed }]
          const before = await served(config(rules, above), requests)
          const { found } = await suggested(config(rules, above), before.records)
          const [api] = found.suggestions
          const isAdmitted = before.statuses.includes(200)
          if (api === undefined) {
            // Whatever the claims and headers, a rule without its own condition is too broad.
            assert.ok(!isAdmitted || found.without.length > 0)
            return
          }
          const kept = rules.filter((one) => !('allow' in one))
          const own = api.rules.map(({ expression }) => ({ allow: expression }))
          const after = await served(config([...kept, ...own], above), [...requests, ...others])
          assert.deepEqual(after.statuses.slice(0, requests.length), before.statuses)
          const unrecorded = await served(config(rules, above), others)
          for (const [index, status] of after.statuses.slice(requests.length).entries())
            assert.ok(status !== 200 || unrecorded.statuses[index] === 200)
        },
      ),
      { numRuns: Number(process.env['FUZZ_RUNS'] ?? 0) > 0 ? 200 : 15 },
    )
  })
})
