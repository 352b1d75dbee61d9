import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'diff-reading-'))
after(() => rmSync(FOLDER, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(FOLDER, `${name}.yaml`)
  writeFileSync(path, text)
  return path
}

const config = (rules: readonly string[], top = '', backends = "[{ host: 'a:80' }]") =>
  `${top}gateways: { default: { port: 8080 } }
routes:
- name: api
  policies:
    authorization:
      rules:
${rules.map((rule) => `      - ${rule}\n`).join('')}  backends: ${backends}
`
const ALLOW = `allow: "request.method == 'GET' || request.method == 'POST'"`

const diffOf = (old: string, now: string, ...args: readonly string[]) =>
  runWith(['diff', file('old', old), file('new', now), ...args])

async function fixed(...rules: readonly string[]): Promise<readonly string[]> {
  const path = file('fixed', config(rules))
  await runWith(['lint', '--fix', path])
  const text = readFileSync(path, 'utf8')
  return rules.filter((rule) => text.includes(`- ${rule}\n`))
}

describe('headers that can be mistaken for those that rules read', () => {
  const never = `deny: "request.headers['x-role'] == 'a' && request.headers['x-role'] == 'b'"`
  const other = `deny: "request.headers['x-team'] == 'a' && request.headers['x-team'] == 'b'"`

  it('are newly rejected once a rule reads one, though it is never true', async () => {
    const { out, code } = await diffOf(config([ALLOW]), config([ALLOW, never]), '--fail-on-change')
    assert.match(out, /newly denied at listener default\/default\n[\s\S]*x_role: 1/)
    assert.match(out, /before: admitted\n {2}after: {2}400: ambiguous-header-name/)
    assert.equal(code, 1)
  })

  it('are newly admitted once no rule reads one', async () => {
    const args = [config([ALLOW, never]), config([ALLOW])] as const
    const { out, code } = await diffOf(...args, '--fail-on-newly-admitted')
    assert.match(out, /newly admitted at listener default\/default\n[\s\S]*x_role: 1/)
    assert.equal(code, 1)
  })

  it('are reported on every listener, and in both directions', async () => {
    const { out } = await diffOf(config([ALLOW, never]), config([ALLOW, other]))
    assert.match(out, /newly admitted[^\n]*\n[^\n]*\n[^\n]*\n {4}x_role: 1/)
    assert.match(out, /newly denied[^\n]*\n[^\n]*\n[^\n]*\n {4}x_team: 1/)
    assert.match(out, /1 newly admitted, 1 newly denied/)
  })

  it('change nothing if names are not checked, or another rule reads the header too', async () => {
    const top = 'frontendPolicies: { http: { headersWithUnderscores: Allow } }\n'
    const allowed = await diffOf(config([ALLOW], top), config([ALLOW, never], top))
    assert.match(allowed.out, /proven/)
    const read = `deny: "request.headers['X-Role'] == 'c'"`
    const both = await diffOf(config([ALLOW, read]), config([ALLOW, read, never]))
    assert.match(both.out, /proven/)
    const plain = `deny: "request.headers['cookie'] == 'a' && request.headers['cookie'] == 'b'"`
    const single = await diffOf(config([ALLOW]), config([ALLOW, plain]))
    assert.match(single.out, /proven/)
  })

  it('are reported if a rule reads all headers', async () => {
    const all = 'require: "request.headers.size() >= 0"'
    const { out } = await diffOf(config([ALLOW]), config([ALLOW, all]))
    assert.match(out, /newly denied at listener default\/default\n[\s\S]*x_other: 1/)
  })

  it('keep --fix from removing the only rule that reads one', async () => {
    const wide = `deny: "request.path.startsWith('/a')"`
    const narrow = `deny: "request.path.startsWith('/a') && request.headers['x-role'] == 'a'"`
    assert.deepEqual(await fixed(wide, narrow, ALLOW), [wide, narrow, ALLOW])
    const read = `deny: "request.headers['x-role'] == 'c'"`
    assert.deepEqual(await fixed(wide, narrow, read, ALLOW), [wide, read, ALLOW])
  })
})

describe('conditions that cannot be fully evaluated', () => {
  const json = "json(request.body).a == 'x'"
  const path = "request.path.endsWith('/a')"
  const words = "jwt.scope.split(' ').exists(s, s == 'x')"
  for (const [what, old, now] of [
    ['the order of a Deny rule', `deny: "${json} && ${path}"`, `deny: "${path} && ${json}"`],
    [
      'the order of a Require rule',
      `require: "${json} || ${path}"`,
      `require: "${path} || ${json}"`,
    ],
    ['a Deny rule that is never true', `deny: "${json} && request.host == 'A'"`, ALLOW],
  ] as const) {
    it(`are not called the same as what can: ${what}`, async () => {
      const { out } = await diffOf(config([ALLOW, old]), config([ALLOW, now]))
      assert.match(out, /not known/)
    })
  }

  it('do not equal those that can: words of a long string', async () => {
    const [split, matched] = [`deny: "${words}"`, `deny: "jwt.scope.matches('(^| )x( |$)')"`]
    const rules = (one: string) =>
      config([ALLOW, one]).replace('  policies:\n', `  policies:\n    ${TOKEN}\n`)
    const { out } = await diffOf(rules(split), rules(matched))
    assert.match(out, /not known/)
  })

  it('equal themselves', async () => {
    const [own, more] = [`deny: "${json} && ${path}"`, `deny: "request.path == '/never'"`]
    const { out } = await diffOf(config([ALLOW, own]), config([ALLOW, own, more]))
    assert.match(out, /newly denied/)
    assert.doesNotMatch(out, /not known/)
  })
})

const TOKEN = `jwtAuthentication: { issuer: 'https://i.test', jwks: { inline: '{"keys":[]}' } }`

describe('bodies that are buffered for expressions', () => {
  const always = 'require: "has(request.body) || !has(request.body)"'

  it('may change the result even if the rule is always true', async () => {
    const { out } = await diffOf(config([ALLOW]), config([ALLOW, always]))
    assert.match(out, /not known[^\n]*newly denied[^\n]*request\.body/)
    assert.deepEqual(await fixed(always, ALLOW), [always, ALLOW])
  })

  it('count wherever an expression on the route reads them', async () => {
    const policies = (text: string) =>
      config([ALLOW]).replace('  policies:\n', `  policies:\n    ${text}\n`)
    const own = `transformations: { request: { set: { x: "string(request['body'])" } } }`
    const { out } = await diffOf(config([ALLOW]), policies(own))
    assert.match(out, /not known[^\n]*request\.body/)
    const none = `transformations: { request: { set: { x: "request.path" } } }`
    assert.match((await diffOf(config([ALLOW]), policies(none))).out, /proven/)
  })
})

describe('integers that are not ports', () => {
  const BACKENDS = `[{ backend: models }]`
  const models = (rule: string) => `backends:
- name: models
  ai: { groups: [{ providers: [{ name: one, provider: { openAI: {} }, policies: { authorization: { rules: [{ ${rule} }] } } }] }] }
`
  const file = (rule: string) => config([ALLOW], models(rule), BACKENDS)

  it('may exceed 65,535', async () => {
    const { out } = await diffOf(
      file('deny: llm.inputTokens > 70000'),
      file('deny: llm.inputTokens > 90000'),
    )
    assert.doesNotMatch(out, /proven/)
    const found = await runWith(['lint', writeTo(file('deny: llm.inputTokens > 100000'))])
    assert.doesNotMatch(found.out, /AZ001|no request can satisfy this rule/)
  })

  it('never exceed it for ports', async () => {
    const found = await runWith(['lint', writeTo(config(['deny: source.port > 70000']))])
    assert.match(found.out, /no request can satisfy this rule/)
  })
})

const writeTo = (text: string) => file('linted', text)

describe('bodies that are buffered for expressions outside rules', () => {
  const policy = (text: string) => `gateways: { default: { port: 8080 } }
routes:
- { name: api, backends: [{ host: 'a:80' }], policies: { ${text} } }
`
  const open = policy('timeout: { request: 5s }')
  const transformed = (expression: string) =>
    policy(`transformations: { request: { set: { x-a: ${JSON.stringify(expression)} } } }`)

  for (const expression of [
    'string(request.body)',
    'string(request            .body)',
    'string(request // as it came\n.body)',
    'request.with(r, string(r.body))',
    'cel.bind(r, request, string(r.body))',
    '[request].map(r, string(r.body))[0]',
    'toJson(request)',
  ]) {
    it(`are told of, however they are read: ${expression}`, async () => {
      const { out } = await diffOf(open, transformed(expression))
      assert.match(out, /not known[^\n]*request\.body/)
    })
  }

  it('are reported if a retry reads them', async () => {
    const condition = "request.with(r, string(r.body) == 'q')"
    const retried = policy(`retry: { attempts: 2, condition: "${condition}" }`)
    assert.match((await diffOf(open, retried)).out, /not known[^\n]*request\.body/)
  })

  it('are not reported if another part of the request is read or a string is not an expression', async () => {
    for (const other of [
      transformed('request.path'),
      transformed("'the request body'"),
      policy("responseHeaders: { set: { x-note: 'a request without a body' } }"),
    ]) {
      assert.doesNotMatch((await diffOf(open, other)).out, /request\.body/)
    }
  })
})

describe('responses with random conditions', () => {
  const responding = (status: number, share: string) => `gateways: { default: { port: 8080 } }
routes:
- name: api
  policies:
    directResponse: { conditional: [{ condition: 'random() < ${share}', status: ${status}, body: x }] }
  backends: [{ host: 'a:80' }]
`
  it('are not known to be the same if they are errors', async () => {
    const { out } = await diffOf(responding(403, '0.5'), responding(403, '0.1'))
    assert.match(out, /not known .*newly admitted or newly denied/)
    assert.match((await diffOf(responding(200, '0.1'), responding(403, '0.1'))).out, /not known/)
  })

  it('are not assumed if no condition is random, with or without a backend', async () => {
    const routes = (paths: readonly string[]) => `gateways: { default: { port: 8080 } }
routes:
- { name: a, matches: [{ path: { pathPrefix: /a } }], policies: { directResponse: { status: 200, body: a } } }
- { name: b, matches: [${paths.map((path) => `{ path: { pathPrefix: ${path} } }`)}], backends: [{ host: 'b:80' }] }
`
    const { out } = await diffOf(routes(['/']), routes(['/', '/a/b']))
    assert.doesNotMatch(out, /not known/)
  })

  it('change nothing if they are not errors, or are the same', async () => {
    assert.match((await diffOf(responding(200, '0.5'), responding(200, '0.1'))).out, /proven/)
    assert.match((await diffOf(responding(403, '0.5'), responding(403, '0.5'))).out, /proven/)
  })
})

describe('claims of tokens in examples', () => {
  const requiring = (options: string, rules: string) => `gateways: { default: { port: 8080 } }
routes:
- name: api
  policies:
    jwtAuthentication:
      { issuer: 'https://i.test', jwks: { inline: '{"keys":[]}' }, ${options} }
    authorization: { rules: [${rules}] }
  backends: [{ host: 'a:80' }]
`
  const strict = 'audiences: [shop], jwtValidationOptions: { requiredClaims: [tenant] }'

  it('are only those that are required', async () => {
    const deny = `{ deny: "jwt.sub == 'bob'" }`
    const now = requiring(strict, `{ deny: "jwt.sub == 'eve'" }`)
    const { out } = await diffOf(requiring(strict, deny), now, '--json')
    const { identity } = JSON.parse(out).differences[0].example
    const { sub, ...others } = identity.jwt
    assert.deepEqual(others, { iss: 'https://i.test', aud: 'shop', tenant: 'any' })
  })

  it('are kept if a rule requires the same', async () => {
    const rule = `{ require: "jwt.aud == 'shop' || 'shop' in jwt.aud" }`
    const old = requiring('audiences: [shop]', `{ allow: 'true' }`)
    const { out } = await diffOf(old, requiring('mode: Strict', `${rule}, { allow: 'true' }`))
    assert.doesNotMatch(out, /^newly denied at/m)
  })
})
