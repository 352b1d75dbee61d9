import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { DecisionRecord } from '../telemetry/decision-record.ts'
import { recordOf } from '../telemetry/fixtures/decision-records.ts'
import { recordedWhile } from './fixtures/recording-gateway.ts'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'replay-'))
after(() => rmSync(FOLDER, { recursive: true }))

function config(...rules: readonly string[]): string {
  const list = rules.map((rule) => `          - ${rule}\n`).join('')
  return `gateways:
  default: { port: 8080 }
routes:
  - name: api
    policies:
      jwtAuthentication: { issuer: 'https://i.example', jwks: { inline: '{"keys":[]}' } }
      authorization:
        rules:
${list}    backends: [{ host: 'a:80' }]
`
}

/** The same without authentication, and with optional authentication. */
const open = (policy: string) =>
  OLD.replace(/ +jwtAuthentication[\s\S]*(?= {4}backends)/, `      ${policy}\n`)
const optional = (rule: string) => config(rule).replace('issuer:', 'mode: Optional, issuer:')

const OLD = config("allow: jwt.group == 'eng'", "deny: request.path.startsWith('/admin')")

/** Records of a gateway that served these requests. */
function recorded(show: readonly string[]): Promise<readonly DecisionRecord[]> {
  return recordedWhile(OLD, show, async (origin, tokens) => {
    for (const [group, path] of [
      ['eng', '/'],
      ['ops', '/'],
      ['ops', '/other'],
      ['eng', '/admin'],
      [undefined, '/'],
    ] as const) {
      const claims = { iss: 'https://i.example', sub: 'a', group }
      const authorization = `Bearer ${tokens.make(claims, 'valid')}`
      const headers = {
        connection: 'close',
        ...(group === undefined ? {} : { authorization }),
      }
      await (await fetch(`${origin}${path}`, { headers })).text()
    }
  })
}

function file(name: string, text: string): string {
  const path = join(FOLDER, name)
  writeFileSync(path, text)
  return path
}

async function replay(records: readonly DecisionRecord[], now: string, ...args: readonly string[]) {
  const lines = `${records.map((record) => JSON.stringify(record)).join('\n')}\n`
  return runWith([
    'replay',
    ...['--decisions', file('decisions.jsonl', `${lines}{}\n`)],
    ...['--old', file('old.yaml', OLD), '--new', file('new.yaml', now), ...args],
  ])
}

describe('portcullis replay', () => {
  let shown: readonly DecisionRecord[]
  let redacted: readonly DecisionRecord[]
  before(async () => {
    shown = await recorded(['jwt', 'request'])
    redacted = await recorded([])
  })

  it('reports no changes for the same configuration', async () => {
    for (const records of [shown, redacted]) {
      const { out, code } = await replay(records, OLD, '--fail-on-change')
      assert.match(out, /5 requests: 0 newly admitted, 0 newly denied, /)
      assert.doesNotMatch(out, /differently than recorded/)
      assert.equal(code, 0)
    }
  })

  it('does not treat a client as authenticated that an invalid policy denied', async () => {
    const place = { gateway: 'default', listener: 'default', route: 'api' }
    const request = { method: 'GET', host: 'a.example', path: '/', status: 500 }
    const record = recordOf({ ...place, ...request, cause: 'invalid-policy' })
    const { out } = await replay([record], config("deny: request.path == '/admin'"))
    assert.match(
      out,
      /not known: 1: it depends on the result of `jwtAuthentication`, which the record does not contain/,
    )
  })

  it('lists newly admitted requests first, by route and reason', async () => {
    const now = config("allow: jwt.group in ['eng', 'ops']", "require: request.path == '/other'")
    const { out, code } = await replay(shown, now, '--fail-on-newly-admitted')
    assert.match(
      out,
      /denied then, admitted now: 1 at route api: no Allow rule matches\n {2}for example .*\n {4}GET \/other\n/,
    )
    assert.match(
      out,
      /admitted then, denied now: 1 at route api: Require `request\.path == '\/other'`/,
    )
    assert.ok(out.indexOf('denied then') < out.indexOf('admitted then'))
    assert.match(out, /skipped: 1 lines/)
    assert.match(out, /5 requests: 1 newly admitted, 1 newly denied, 3 unchanged, 0 not known/)
    assert.equal(code, 1)
  })

  it('reports not known if the records lack a value', async () => {
    const now = config("allow: jwt.group in ['eng', 'ops']")
    const { out } = await replay(redacted, now)
    assert.match(out, /not known: 4: it depends on jwt\.group, which the record does not contain/)
    assert.match(out, /5 requests: 0 newly admitted, 0 newly denied, 1 unchanged, 4 not known/)
  })

  it('decides what is the same for all hidden values', async () => {
    const now = config("allow: jwt.group == 'eng'", "deny: request.path != '/none'")
    const { out } = await replay(redacted, now)
    assert.match(out, /5 requests: 0 newly admitted, 1 newly denied, 4 unchanged, 0 not known/)
    const open = config("deny: request.path.startsWith('/admin')")
    assert.match(
      (await replay(redacted, open)).out,
      /2 newly admitted, 0 newly denied, 3 unchanged/,
    )
  })

  it('reports not known if the issuer of the token changes', async () => {
    const now = OLD.replace('https://i.example', 'https://j.example')
    assert.match(
      (await replay(shown, now)).out,
      /not known: \d: it depends on .*the result of `jwtAuthentication`/,
    )
  })

  const missing = (more: object = {}) =>
    recordOf({
      ...{ gateway: 'default', listener: 'default', route: 'api' },
      ...{ method: 'GET', host: 'a.example', path: '/x', status: 401, attributes: [] },
      ...{ kind: 'authentication', cause: 'credentials', reason: 'missing' },
      credentials: {
        ...{ method: 'jwt', policy: 'route:api', section: 'traffic', level: 'route' },
        kind: 'jwtAuthentication',
      },
      ...more,
    })

  for (const [what, record, now, expected] of [
    ['none, and nobody asks any more', missing(), open('timeout: {}'), /1 newly admitted/],
    [
      'bad ones, and nobody asks',
      missing({ reason: 'expired' }),
      open('timeout: {}'),
      /1 newly adm/,
    ],
    [
      'none, and none is fine',
      missing(),
      optional("deny: request.path == '/y'"),
      /1 newly admitted/,
    ],
    [
      'none, and rules ask',
      missing(),
      optional("allow: jwt.group == 'eng'"),
      /0 newly .* 1 unchanged/,
    ],
    [
      'bad ones, and none is fine',
      missing({ reason: 'expired' }),
      optional("deny: request.path == '/y'"),
      /0 newly .* 1 unchanged/,
    ],
    [
      'none, and a header decides',
      missing(),
      optional("deny: request.headers['x-a'] == '1'"),
      /not known: 1: it depends on request\.headers\['x-a'\]/,
    ],
  ] as const) {
    it(`of credentials: ${what}`, async () => {
      assert.match((await replay([record], now)).out, expected)
    })
  }

  const allowed = recordOf({
    ...{ gateway: 'default', listener: 'default', route: 'api', verdict: 'allowed' },
    ...{ method: 'GET', host: 'a.example', path: '/x', status: 200, cause: 'no-rules' },
  })
  const ANY = open(
    `authentication: { anyOf: [{ apiKey: { keys: [{ keyHash: 'sha256:${'0'.repeat(64)}' }] } }] }`,
  )
  const SERVICE = open(`extAuthz: { host: 'a:1' }`)
  for (const [what, old, now, expected] of [
    ['the same choice', ANY, ANY, / 1 unchanged/],
    ['the same service', SERVICE, SERVICE, / 1 unchanged/],
    [
      'a choice that was not there',
      open('timeout: {}'),
      ANY,
      /not known: 1: it depends on the result of `authentication`/,
    ],
    [
      'a service that was not there',
      open('timeout: {}'),
      SERVICE,
      /not known: 1: it depends on the result of `extAuthz`/,
    ],
    ['a service that is gone', SERVICE, open('timeout: {}'), / 1 unchanged/],
  ] as const) {
    it(`of whoever passed: ${what}`, async () => {
      const { out } = await replay([allowed], now, '--old', file('other.yaml', old))
      assert.match(out, expected)
      assert.doesNotMatch(out, /differently than recorded/)
    })
  }

  it('decides a connection by connection rules only', async () => {
    const record = recordOf({
      ...{ gateway: 'default', listener: 'default', stage: 'connection', source: '10.0.0.7:9' },
      attributes: [],
    })
    const closed = (network: string) =>
      `${OLD}frontendPolicies: { networkAuthorization: { rules: [{ require: "cidr('${network}').containsIP(source.address)" }] } }\n`
    assert.match((await replay([record], closed('10.1.0.0/16'))).out, / 1 unchanged, 0 not known/)
    const { out } = await replay([record], closed('10.0.0.0/8'))
    assert.match(out, /denied then, admitted now: 1 at no route.*\n.*\n {4}a connection\n {4}from/)
  })

  it('decides a connection even if no route is attached to the listener', async () => {
    const record = recordOf({
      ...{ gateway: 'default', listener: 'default', stage: 'connection', source: '10.0.0.7:9' },
      attributes: [],
    })
    const bare = (network: string) =>
      `gateways: { default: { port: 8080 } }\nfrontendPolicies: { networkAuthorization: { rules: [{ deny: "cidr('${network}').containsIP(source.address)" }] } }\n`
    const old = ['--old', file('bare.yaml', bare('10.0.0.0/8'))] as const
    for (const [now, expected] of [
      [bare('10.0.0.0/16'), / 1 unchanged, 0 not known/],
      [bare('10.1.0.0/16'), / 1 newly admitted, 0 newly denied, 0 unchanged, 0 not known/],
      ['gateways: { default: { port: 8080 } }\n', / 1 newly admitted/],
      ['gateways: { other: { port: 8080 } }\n', / 1 newly admitted/],
      ['gateways: { other: { port: 8081 } }\n', / 1 unchanged/],
    ] as const) {
      const { out } = await replay([{ ...record, port: 8080 } as never], now, ...old)
      assert.match(out, expected)
      assert.doesNotMatch(out, /differently than recorded/)
    }
  })

  it('skips entries of the gateway about the file itself', async () => {
    const about = { seq: 0, prev: '0', entry: 'begin', time: 'x', format: 1 }
    const { out } = await replay([about as never], OLD)
    assert.match(out, /skipped: 1 lines[\s\S]*0 requests/)
  })

  it('fails on a change if the old configuration disagrees with the records', async () => {
    const other = file('other.yaml', config("deny: request.path == '/'"))
    const { out, code } = await replay(shown, OLD, '--old', other, '--fail-on-change')
    assert.match(out, /the old configuration decides \d of them differently than recorded/)
    assert.equal(code, 1)
    assert.equal((await replay(shown, OLD, '--old', other)).code, 0)
  })

  it('does not decide a cross-site request of which nothing else is recorded', async () => {
    const record = recordOf({
      ...{ gateway: 'default', listener: 'default', route: 'api', kind: 'csrf' },
      ...{ method: 'POST', host: 'a.example', path: '/x', status: 403, cause: 'cross-site' },
    })
    const { out } = await replay([record], open('timeout: {}'))
    assert.match(out, /not known: 1: it depends on `csrf`/)
  })

  it('does not decide by a source that the new configuration derives differently', async () => {
    const hops = (count: number) => `frontendPolicies: { http: { trustedHops: ${count} } }
gateways:
  default: { port: 8080 }
routes:
  - name: api
    policies: { authorization: { rules: [{ allow: "cidr('10.0.0.0/8').containsIP(source.address)" }] } }
    backends: [{ host: 'a:80' }]
`
    const record = recordOf({
      ...{ gateway: 'default', listener: 'default', route: 'api', verdict: 'allowed' },
      ...{ method: 'GET', host: 'a.example', path: '/x', status: 200 },
      ...{ source: '10.1.2.3:0', peer: '203.0.113.9:51410' },
    })
    const { out } = await replay([record], hops(0), '--old', file('hops.yaml', hops(1)))
    assert.match(out, /not known: 1: it depends on how the client connected/)
  })

  for (const [what, text] of [
    ['nothing', ''],
    ['a configuration', OLD],
    ['other lines of JSON', '{"level":"info"}\n{"level":"info"}\n'],
  ] as const) {
    it(`does not take ${what} for recorded decisions`, async () => {
      const names = ['--old', file('old.yaml', OLD), '--new', file('new.yaml', OLD)]
      const { code, err, out } = await runWith([
        'replay',
        '--decisions',
        file('no.txt', text),
        ...names,
      ])
      assert.match(err, /no\.txt contains no decision records/)
      assert.deepEqual([code, out], [1, ''])
    })
  }

  it('distinguishes a missing token from a missing claim', async () => {
    const was = optional('require: "!has(jwt.sub)"')
    const now = optional('deny: "!has(jwt.sub)"')
    const rule = { policy: 'route:api', section: 'traffic', level: 'route' } as const
    const record = (fields: object) =>
      recordOf({
        ...{ gateway: 'default', listener: 'default', route: 'api', verdict: 'allowed' },
        ...{ method: 'GET', host: 'a.example', path: '/x', status: 200, cause: 'no-rules' },
        ...fields,
      })
    const bySomebody = record({
      id: 'somebody',
      identified: [{ ...rule, kind: 'jwtAuthentication', variable: 'jwt' }],
      attributes: [{ name: 'jwt.sub', state: 'unset' }],
    })
    const byNobody = record({
      ...{ id: 'nobody', verdict: 'denied', identified: [] },
      attributes: [{ name: 'jwt.sub', state: 'unset', missing: 'jwt' }],
    })
    const untold = record({ id: 'untold', attributes: [{ name: 'jwt.sub', state: 'unset' }] })
    const old = ['--old', file('was.yaml', was), '--fail-on-change'] as const
    const { out, code } = await replay([bySomebody, byNobody, untold], now, ...old)
    assert.match(out, /admitted then, denied now: 1 .*\n {2}for example somebody/)
    assert.match(out, /denied then, admitted now: 1 .*\n {2}for example nobody/)
    assert.match(out, /not known: 1: it depends on .*jwt/)
    assert.equal(code, 1)
  })

  for (const [attribute, expected] of [
    [{ name: 'jwt.n', state: 'shown', value: 5 }, /1 newly denied/],
    [{ name: 'jwt.n', state: 'shown', value: 5, inexact: true }, /1 not known/],
    [{ name: 'jwt.n', state: 'cut', value: 5 }, /1 not known/],
    [{ name: 'jwt.n', state: 'redacted' }, /1 not known/],
    [{ name: 'jwt.n', state: 'unset' }, /1 unchanged/],
    [{ name: 'jwt.other', state: 'shown', value: 5 }, /1 not known/],
  ] as const) {
    it(`takes a value as ${JSON.stringify(attribute)} says`, async () => {
      const by = { policy: 'route:api', section: 'traffic', level: 'route' } as const
      const record = recordOf({
        ...{ gateway: 'default', listener: 'default', route: 'api', verdict: 'allowed' },
        ...{ method: 'GET', host: 'a.example', path: '/x', status: 200, cause: 'no-rules' },
        identified: [{ ...by, kind: 'jwtAuthentication', variable: 'jwt' }],
        attributes: [attribute],
      })
      assert.match((await replay([record], config('deny: type(jwt.n) == int'))).out, expected)
    })
  }

  it('writes JSON, and requires its options', async () => {
    const { out } = await replay(shown, OLD, '--json')
    assert.deepEqual(JSON.parse(out).requests, 5)
    assert.equal((await replay(shown, 'gateways: 1\n')).code, 1)
  })
})
