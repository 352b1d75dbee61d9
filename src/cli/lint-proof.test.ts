import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'lint-proof-'))
after(() => rmSync(FOLDER, { recursive: true }))

const TOKEN = `jwtAuthentication: { issuer: 'https://i.example', audiences: [a], jwks: { inline: '{"keys":[]}' } }`

function config(...rules: readonly string[]): string {
  const list = rules.map((rule) => `      - ${rule}\n`).join('')
  return `gateways: { default: { port: 8080, ${TOKEN} } }
routes:
- name: api
  policies:
    authorization:
      rules:
${list}  backends: [{ host: 'a:80' }]
`
}

function file(text: string): string {
  const path = join(FOLDER, 'case.yaml')
  writeFileSync(path, text)
  return path
}

async function fixed(...rules: readonly string[]): Promise<readonly string[]> {
  const path = file(config(...rules))
  await runWith(['lint', '--fix', path])
  const text = readFileSync(path, 'utf8')
  return rules.filter((rule) => text.includes(`- ${rule}\n`))
}

async function findings(text: string): Promise<string> {
  return (await runWith(['lint', file(text)])).out
}

describe('lint removes a rule only if the removal provably changes nothing', () => {
  const ALLOW = `allow: "has(jwt.sub)"`
  /** Equivalent to EVE if the rest can never be true. */
  const EVE = `deny: "jwt.sub == 'eve'"`
  const or = (text: string) => `deny: "jwt.sub == 'eve' || (${text})"`
  for (const [what, rules] of [
    [
      'members of objects',
      [or(`'roles' in jwt.realm_access && 'banned' in jwt.realm_access.roles`), ALLOW],
    ],
    ['names of members', [or(`jwt.o.exists(k, k == 'x') && has(jwt.o.x)`), ALLOW]],
    ['fractions', [or('jwt.risk > 0.5 && jwt.risk < 0.9'), ALLOW]],
    ['large numbers', [or('jwt.risk > 1e300 && jwt.risk < 1.1e300'), ALLOW]],
    ['no host', [or("request.host == ''"), ALLOW]],
    ['infinity', [or('jwt.n > 1.7e308'), ALLOW]],
    ['addresses as strings', [or("jwt.ip == ip('10.0.0.1')"), ALLOW]],
    // Proven by logic alone, but in a form that is not analyzed.
    ['what is not covered', [`deny: "jwt.sub == 'eve' && jwt.a == jwt.b"`, ALLOW]],
  ] as const) {
    it(`leaves rules on ${what}`, async () => {
      const kept = await fixed(EVE, ...rules)
      assert.deepEqual(kept.slice(-2), rules)
    })
  }

  it('removes a rule that another one covers', async () => {
    const [wide, narrow] = [`deny: "jwt.risk > 0.5"`, `deny: "jwt.risk >= 0.9"`]
    assert.deepEqual(await fixed(wide, narrow, ALLOW), [wide, ALLOW])
    const [all, one] = [
      `deny: "jwt.mail.endsWith('.example')"`,
      `deny: "jwt.mail.endsWith('a.example')"`,
    ]
    assert.deepEqual(await fixed(all, one, ALLOW), [all, ALLOW])
  })

  it('removes duplicates in any form', async () => {
    const rule = `deny: "size(jwt.a) > 1"`
    assert.equal((await fixed(rule, rule, ALLOW)).length, 3)
    const text = readFileSync(join(FOLDER, 'case.yaml'), 'utf8')
    assert.equal(text.split(rule).length, 2)
  })
})

describe('lint does not report that nothing is admitted', () => {
  it('if members of an object are required', async () => {
    const out = await findings(
      config(
        `require: "'roles' in jwt.realm_access"`,
        `allow: "'admin' in jwt.realm_access.roles"`,
      ),
    )
    assert.doesNotMatch(out, /AZ010/)
  })

  const listeners = (route: string) => `gateways:
  default:
    port: 8080
    listeners:
    - { name: secure, hostname: secure.example }
    - name: open
      hostname: open.example
      policies: { authorization: { rules: [{ require: "request.path == '/only'" }] } }
routes:
- name: api
  hostnames: [${route}]
  policies: { authorization: { rules: [{ allow: "request.path == '/a'" }] } }
  backends: [{ host: 'a:80' }]
`
  it('because of a listener that never serves the route', async () => {
    assert.doesNotMatch(await findings(listeners('secure.example')), /AZ010/)
  })

  it('unless a listener serves the route', async () => {
    assert.match(await findings(listeners('open.example')), /AZ010.*no request is admitted at/)
  })

  it('or that a token is missing at a listener that never serves the route', async () => {
    const text = listeners('secure.example')
      .replace('name: secure,', `name: secure, ${TOKEN},`)
      .replace(`"request.path == '/a'"`, `"jwt.sub == 'a'"`)
    assert.doesNotMatch(await findings(text), /AZ001/)
  })
})
