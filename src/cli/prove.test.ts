import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { TESTING_CODES } from '../diagnostics/codes/testing.ts'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'invariants-'))
after(() => rmSync(FOLDER, { recursive: true }))

const TOKENS = `{ issuer: 'https://i.test', jwks: { inline: '{"keys":[]}' } }`

/** Two routes on one port, one of them guarded by tokens, and a database next to them. */
const CONFIG = `name: guarded
config:
  gateways:
    web: { port: 4000 }
    db: { port: 5432, protocol: TCP }
  routes:
    - name: admin
      gateways: [web]
      matches: [{ path: { pathPrefix: /admin } }]
      policies:
        jwtAuthentication: ${TOKENS}
        authorization: { rules: [{ require: "'admin' in jwt.roles" }, { deny: jwt.risk > 0.5 }] }
      backends: [{ backend: admin }]
    - name: open
      gateways: [web]
      policies: { authorization: { rules: [{ deny: request.method == 'TRACE' }] } }
      backends: [{ backend: open, weight: 1 }, { backend: other, weight: 1 }]
  tcpRoutes:
    - { name: db, gateways: [db], backends: [{ host: '127.0.0.1:5000' }] }
  backends:
    - { name: admin, host: '127.0.0.1:8080' }
    - { name: open, host: '127.0.0.1:8081' }
    - name: other
      host: '127.0.0.1:8082'
      policies: { authorization: { rules: [{ require: request.method == 'GET' }] } }
invariants:
`

let count = 0
function write(text: string): string {
  const file = join(FOLDER, `${++count}.yaml`)
  writeFileSync(file, text)
  return file
}

async function verdictOn(invariant: Readonly<Record<string, unknown>>) {
  const text = `${CONFIG}- ${JSON.stringify({ name: 'it', ...invariant })}\n`
  const { code, out } = await runWith(['prove', '--format', 'json', write(text)])
  const [suite] = JSON.parse(out).suites
  return { code, ...suite.invariants[0]?.answer, diagnostics: suite.diagnostics }
}

const ELSEWHERE = `name: elsewhere
config:
  gateways: { default: { port: 4000 } }
  routes:
    - name: copied
      matches: [{ path: { pathPrefix: /copied } }]
      policies: { requestMirror: { backend: { backend: copies } } }
      backends: [{ backend: own }]
    - name: asked
      matches: [{ path: { pathPrefix: /asked } }]
      policies: { extAuthz: { backend: judge } }
      backends: [{ backend: own }]
    - name: direct
      matches: [{ path: { pathPrefix: /direct } }]
      policies:
        directResponse:
          conditional: [{ condition: "request.path == '/direct/now'", status: 200, body: hello }]
      backends: [{ backend: own }]
    - name: gone
      matches: [{ path: { pathPrefix: /gone } }]
      policies:
        directResponse:
          conditional: [{ condition: "request.path == '/gone/now'", status: 410, body: gone }]
      backends: [{ backend: own }]
  backends:
    - { name: own, host: '127.0.0.1:8080' }
    - { name: copies, host: '127.0.0.1:8081' }
    - { name: judge, host: '127.0.0.1:8082' }
invariants:
`

describe('portcullis prove, if requests do not reach the backend by their route', () => {
  const own = "backend.name == 'own'"
  for (const [title, on, admitted, kind, why] of [
    ['a backend that gets copies', { backend: 'copies' }, 'false', 'not known', /requestMirror of/],
    ['a service that is asked', { backend: 'judge' }, 'false', 'not known', /extAuthz of/],
    ['responses of the gateway itself', { route: 'direct' }, own, 'not known', /itself responds/],
    ['errors of the gateway itself', { route: 'gone' }, own, 'proven', undefined],
    ['a route without any', { route: 'copied' }, own, 'proven', undefined],
  ] as const) {
    it(`${title}: ${kind}`, async () => {
      const text = `${ELSEWHERE}- ${JSON.stringify({ name: 'it', on, admitted })}\n`
      const { out } = await runWith(['prove', '--format', 'json', write(text)])
      const { answer: verdict } = JSON.parse(out).suites[0].invariants[0]
      assert.equal(verdict.kind, kind, JSON.stringify(verdict))
      if (why !== undefined) assert.match(verdict.because[0].why, why)
    })
  }
})

describe('portcullis prove', () => {
  const admins = "'admin' in jwt.roles"
  const TEN = "cidr('10.0.0.0/8').containsIP(source.address)"
  for (const [title, invariant, kind] of [
    ['what a route requires', { on: { route: 'admin' }, admitted: admins }, 'proven'],
    ['a fraction', { on: { route: 'admin' }, admitted: '!(jwt.risk > 0.7)' }, 'refuted'],
    [
      'a fraction, where the claim is a number',
      { on: { route: 'admin' }, when: 'jwt.risk > 0.7', admitted: 'false' },
      'proven',
    ],
    ['a narrower fraction', { on: { route: 'admin' }, admitted: '!(jwt.risk > 0.3)' }, 'refuted'],
    [
      'a prefix that ends at a segment',
      { on: { listener: 'web' }, when: "request.path.startsWith('/admin/')", admitted: admins },
      'proven',
    ],
    [
      'a prefix that does not',
      { on: { listener: 'web' }, when: "request.path.startsWith('/admin')", admitted: admins },
      'refuted',
    ],
    ['a method', { on: { route: 'open' }, admitted: "request.method != 'TRACE'" }, 'proven'],
    ['one backend', { on: { backend: 'other' }, admitted: "request.method == 'GET'" }, 'proven'],
    [
      'another backend of the same route',
      { on: { backend: 'open' }, admitted: "request.method == 'GET'" },
      'refuted',
    ],
    [
      'the backend as an attribute',
      { on: { listener: 'web' }, when: "backend.name == 'admin'", admitted: admins },
      'proven',
    ],
    ['connections', { on: { listener: 'db' }, admitted: TEN }, 'refuted'],
    ['requests where bytes are forwarded', { admitted: "request.path != ''" }, 'not known'],
    [
      'a pattern that nothing else is about',
      { on: { route: 'admin' }, admitted: "jwt.sub.matches('^[a-z]+$')" },
      'refuted',
    ],
    ['a time, which is a number', { on: { route: 'admin' }, admitted: 'jwt.exp >= 0' }, 'proven'],
    [
      'a time that tokens can have',
      { on: { route: 'admin' }, admitted: 'jwt.exp < 5000000000' },
      'refuted',
    ],
    [
      'a time that no good token has any more',
      { on: { route: 'admin' }, admitted: 'jwt.exp > 1000000000' },
      'not known',
    ],
    [
      'the last time that there is',
      { on: { route: 'admin' }, admitted: 'jwt.exp <= 253402300798.5' },
      'refuted',
    ],
    ['one that a token may lack', { on: { route: 'admin' }, admitted: '!has(jwt.nbf)' }, 'refuted'],
    ['who a token is for', { on: { route: 'admin' }, admitted: "jwt.aud == 'a'" }, 'refuted'],
    [
      '`when` that cannot be evaluated does not apply',
      { on: { route: 'open' }, when: "request.headers['x'] == '1'", admitted: 'true' },
      'proven',
    ],
  ] as const) {
    it(`${title}: ${kind}`, async () => {
      const verdict = await verdictOn(invariant)
      assert.equal(verdict.kind, kind, JSON.stringify(verdict))
      assert.equal(verdict.code, { proven: 0, refuted: 1, 'not known': 3 }[kind])
    })
  }

  it('shows a request that is admitted', async () => {
    const { examples } = await verdictOn({
      on: { listener: 'web' },
      when: "request.path.startsWith('/admin')",
      admitted: admins,
    })
    const [{ route, example, reason }] = examples
    assert.equal(route, 'open')
    assert.match(example.path, /^\/admin[^/]/)
    assert.equal(reason, "`'admin' in jwt.roles` is undefined")
  })

  for (const [what, admitted, shown] of [
    ['a whole number', 'jwt.n != 9007199254740993', /"n": 9007199254740993\b(?!\.)/],
    ['one beyond int64', 'jwt.n != 18446744073709551615u', /"n": 18446744073709551615\b/],
    ['a double', 'jwt.n != 9007199254740994.0', /"n": 9007199254740994\.0\b/],
  ] as const) {
    it(`writes numbers beyond 2^53 as they were found: ${what}`, async () => {
      const invariant = { name: 'it', on: { route: 'admin' }, when: 'has(jwt.n)', admitted }
      const text = `${CONFIG}- ${JSON.stringify(invariant)}\n`
      const { out } = await runWith(['prove', '--format', 'json', write(text)])
      assert.match(out, /"kind": "refuted"/)
      assert.match(out, shown)
    })
  }

  it('reports when no request that it applies to is admitted', async () => {
    const vacuous = { on: { route: 'open' }, when: "request.method == 'TRACE'", admitted: 'false' }
    assert.equal((await verdictOn(vacuous)).isVacuous, true)
    const other = { on: { route: 'open' }, admitted: "request.method != 'TRACE'" }
    assert.equal((await verdictOn(other)).isVacuous, false)
  })

  it('invariants see the token verified at their level; rules of other policies do not', async () => {
    const policies = (rule: string) => `name: siblings
config:
  gateways: { web: { port: 4000 } }
  routes: [{ name: a, gateways: [web], backends: [{ host: '127.0.0.1:1' }] }]
  policies:
    - name: tokens
      target: { route: a }
      policy: { jwtAuthentication: ${TOKENS} }
    - { name: rules, target: { route: a }, policy: { authorization: { rules: [${rule}] } } }
invariants: [{ name: it, admitted: jwt.sub == 'alice' }]
`
    // The rule's own policy sets no token, so it never matches; the invariant's is verified.
    const { out } = await runWith(['prove', write(policies("{ deny: jwt.sub != 'alice' }"))])
    assert.match(out, /refuted: it/)
    const { out: shut } = await runWith(['prove', write(policies("{ require: jwt.sub == 'b' }"))])
    assert.match(shut, /proven: it \(no request that it applies to is admitted\)/)
  })

  it('is part of `portcullis test` and its counts', async () => {
    const file = write(`${CONFIG}- { name: holds, on: { route: open }, admitted: 'true' }
- { name: fails, on: { route: open }, admitted: "request.method == 'GET'" }
requests: [{ path: /x, listener: web, expect: 200 }]
`)
    const junit = join(FOLDER, 'results.xml')
    const { code, out } = await runWith(['test', file, '--junit', junit])
    assert.equal(code, 1)
    assert.match(out, /1 of 1 passed, 1 of 2 invariants proven/)
    assert.match(readFileSync(junit, 'utf8'), /tests="3" failures="1"/)
  })

  it('accepts not known results only with --allow-not-known', async () => {
    const file = write(`${CONFIG}- { name: it, admitted: "request.path != ''" }\n`)
    assert.equal((await runWith(['prove', file])).code, 3)
    const refuted = write(`${CONFIG}- { name: it, admitted: 'false' }\n`)
    assert.equal((await runWith(['prove', file, refuted])).code, 1)
    const { code, out } = await runWith(['prove', '--allow-not-known', file])
    assert.equal(code, 0)
    assert.match(out, /not known: it\n {4}listener db\/default: /)
  })

  it('writes SARIF with the place of the invariant', async () => {
    const file = write(`${CONFIG}- { name: it, on: { route: open }, admitted: 'false' }\n`)
    const { out } = await runWith(['prove', '--format', 'sarif', file])
    const [{ ruleId, locations }] = JSON.parse(out).runs[0].results
    assert.equal(ruleId, 'PC0603')
    assert.equal(locations[0].physicalLocation.region.startLine, 27)
  })

  for (const [title, invariant, message] of [
    [
      'an unknown route',
      `{ name: it, on: { route: opn }, admitted: 'true' }`,
      /PC0602.*unknown route `opn`/,
    ],
    ['an expression of another type', `{ name: it, admitted: request.path }`, /PC0\d+/],
    [
      'a variable that is not there',
      `{ name: it, admitted: reqest.path == '/' }`,
      /PC0\d+.*reqest/s,
    ],
    ['an unknown key', `{ name: it, admit: 'true' }`, /PC0602/],
  ] as const) {
    it(`rejects ${title}`, async () => {
      const { code, out } = await runWith(['prove', write(`${CONFIG}- ${invariant}\n`)])
      assert.equal(code, 1)
      assert.match(out, message)
    })
  }

  it('rejects a file that tests nothing', async () => {
    const { code, out } = await runWith(['test', write('name: it\nconfig: {}\n')])
    assert.equal(code, 1)
    assert.match(out, /PC0602.*nothing is tested/)
  })

  for (const { code, example } of TESTING_CODES.codes) {
    if (code !== 'PC0603' && code !== 'PC0604') continue
    it(`${code}: the examples of its page end as it says`, async () => {
      const wrong = await runWith(['prove', '--format', 'sarif', write(example.wrong)])
      assert.equal(JSON.parse(wrong.out).runs[0].results[0]?.ruleId, code)
      assert.equal((await runWith(['prove', write(example.right)])).code, 0)
    })
  }
})
