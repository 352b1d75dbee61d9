import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { loadText } from '../sources/file/load.ts'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'diff-'))
after(() => rmSync(FOLDER, { recursive: true }))

const run = (...args: readonly string[]) => runWith(args)

function file(name: string, text: string): string {
  const path = join(FOLDER, `${name}.yaml`)
  writeFileSync(path, text)
  return path
}

const TOKEN = `    jwtAuthentication: { issuer: 'https://i.example', jwks: { inline: '{"keys":[]}' } }\n`
const config = (policies: string, more = '') =>
  `gateways: { default: { port: 8080 } }\nroutes:\n- name: api\n  policies:\n${policies}  backends: [{ host: 'a:80' }]\n${more}`
const rules = (...list: readonly string[]) =>
  `    authorization: { rules: [${list.map((rule) => `{ ${rule} }`).join(', ')}] }\n`

async function diffOf(old: string, now: string, ...args: readonly string[]) {
  return run('diff', file('old', old), file('new', now), ...args)
}

describe('portcullis diff', () => {
  for (const [what, old, now, admitted, rejected] of [
    [
      'a longer list',
      rules(`allow: "request.method == 'GET'"`),
      rules(`allow: "request.method in ['GET', 'PUT']"`),
      [/^PUT \/\nhost/m],
      [],
    ],
    [
      'a shorter prefix',
      rules(`deny: "request.path.startsWith('/a')"`),
      rules(`deny: "request.path.startsWith('/a/')"`),
      [/^GET \/a(?!\/)/m],
      [],
    ],
    [
      'a smaller network',
      rules(`require: "cidr('10.0.0.0/8').containsIP(source.address)"`),
      rules(`require: "cidr('10.0.0.0/9').containsIP(source.address)"`),
      [],
      [/^from 10\.(?:12[89]|1[3-9]\d|2\d\d)\./m],
    ],
    [
      'a claim that is asked for in another way',
      TOKEN + rules(`deny: "jwt.group != 'eng'"`),
      TOKEN + rules(`require: "jwt.group == 'eng'"`),
      [],
      [/^jwt \{"iss":"https:\/\/i\.example"\}/m],
    ],
    ['a token that is asked for', '    timeout: {}\n', TOKEN, [], [/^after:.*401/m]],
    [
      'the same in other words',
      rules(`allow: "request.method == 'GET'"`, `allow: "request.method == 'PUT'"`),
      rules(`allow: "!(request.method != 'PUT' && request.method != 'GET')"`),
      [],
      [],
    ],
    [
      'a rule in audit mode',
      rules(`deny: "request.path == '/x'"`),
      `    authorization: { mode: Audit, rules: [{ deny: "request.path == '/x'" }] }\n`,
      [/^GET \/x$/m],
      [],
    ],
    [
      'a pattern',
      rules(`allow: "request.path.matches('^/v[0-9]+$')"`),
      rules(`allow: "request.path.matches('^/w[0-9]+$')"`),
      [/^GET \/w0$/m],
      [/^GET \/v0$/m],
    ],
  ] as const) {
    it(what, async () => {
      const { out } = await diffOf(config(old), config(now))
      const plain = out.replaceAll(/^ +/gm, '')
      const parts = plain.split('newly denied at')
      for (const example of admitted) assert.match(parts[0] as string, example)
      for (const example of rejected) assert.match(parts.slice(1).join(''), example)
      const [more, less] = [admitted.length, rejected.length]
      if (more + less === 0) assert.equal(out, 'nothing changes: proven for every request\n')
      else assert.ok(out.includes(`${more} newly admitted, ${less} newly denied`), out)
    })
  }

  it('handles an added route and a removed listener', async () => {
    const two = `gateways: { default: { port: 8080 }, other: { port: 8081 } }\nroutes:\n- { name: a, gateways: [default, other], matches: [{ path: { exact: /a } }], backends: [{ host: 'a:80' }] }\n`
    const one = `gateways: { default: { port: 8080 } }\nroutes:\n- { name: a, matches: [{ path: { exact: /a } }], backends: [{ host: 'a:80' }] }\n- { name: b, matches: [{ path: { exact: /b } }], backends: [{ host: 'a:80' }] }\n`
    const { out } = await diffOf(two, one)
    assert.match(out, /newly admitted at listener default\/default, route b[\s\S]*GET \/b/)
    assert.match(out, /newly denied at listener other\/default, route a[\s\S]*GET \/a/)
  })

  it('compares connections by server name', async () => {
    const tls = (name: string) =>
      `gateways: { default: { port: 8443, protocol: TLS } }\ntcpRoutes:\n- backends: [{ host: 'a:80' }]\nfrontendPolicies:\n  networkAuthorization: { rules: [{ require: "destination.hostname == '${name}'" }] }\n`
    const { out } = await diffOf(tls('a.test'), tls('b.test'))
    assert.match(out, /newly admitted[\s\S]*SNI b\.test[\s\S]*newly denied[\s\S]*SNI a\.test/)
  })

  it('compares routes of connections', async () => {
    const tls = (routes: string) =>
      `gateways: { default: { port: 8443, protocol: TLS } }\n${routes}`
    const route = (name: string) =>
      tls(`tcpRoutes:\n- { hostnames: [${name}], backends: [{ host: 'a:80' }] }\n`)
    const changed = await diffOf(route('a.test'), route('b.test'))
    assert.match(
      changed.out,
      /newly admitted[\s\S]*SNI b\.test[\s\S]*newly denied[\s\S]*SNI a\.test/,
    )
    assert.doesNotMatch(changed.out, /not known/)
    const wider = await diffOf(route("'*.test'"), route("'*.test', a.test"))
    assert.match(wider.out, /nothing changes/)
    const { out } = await diffOf(route('a.test'), tls(''))
    assert.match(out, /newly denied at .*\n.*\n +SNI a\.test\n[\s\S]*after: {2}closed: no-route/)
    assert.match((await diffOf(route('a.test'), route('a.test'))).out, /nothing changes/)
  })

  it('reports where it gave up', async () => {
    const { out, code } = await diffOf(
      config(rules('deny: "size(request.path) > 500"')),
      config(rules('deny: "size(request.path) > 600"')),
      '--fail-on-newly-admitted',
    )
    assert.match(
      out,
      /not known whether any request is newly admitted at .*route api: it depends on/,
    )
    assert.match(out, /0 newly admitted, 0 newly denied; not complete: 2 not known/)
    assert.equal(code, 1)
  })

  const service = (more = '') => `    extAuthz: { host: 'a:1'${more} }\n`
  const keys = (digit: string, mode = 'Strict') =>
    `    apiKey: { mode: ${mode}, keys: [{ keyHash: 'sha256:${digit.repeat(64)}' }] }\n`
  const anyOf = `    authentication: { anyOf: [{ apiKey: { keys: [{ keyHash: 'sha256:${'0'.repeat(64)}' }] } }] }\n`
  const none = '    timeout: {}\n'
  for (const [what, old, now, admitted, rejected] of [
    ['a service that is asked no more', service(), none, 'extAuthz', 'proven'],
    ['another service', service(), service(', timeout: 1s'), 'extAuthz', 'extAuthz'],
    ['one that may fail', service(), service(', failureMode: Allow'), 'extAuthz', 'extAuthz'],
    ['other keys', keys('0'), keys('1'), 'apiKey', 'apiKey'],
    ['bad ones that pass', keys('0', 'Optional'), keys('0', 'Permissive'), 'example', 'proven'],
    [
      'keys of an issuer',
      TOKEN,
      TOKEN.replace('[]', '[ ]'),
      'jwtAuthentication',
      'jwtAuthentication',
    ],
    ['none that is needed', keys('0'), keys('0', 'Optional'), 'example', 'proven'],
    ['none at all', keys('0'), none, 'example', 'proven'],
    ['one of several', anyOf, none, 'example', 'proven'],
    ['the same', anyOf + service(), anyOf + service(), 'proven', 'proven'],
  ] as const) {
    it(`does not call proven what credentials decide: ${what}`, async () => {
      const { out } = await diffOf(config(old), config(now))
      for (const [kind, expected] of [
        ['admitted', admitted],
        ['denied', rejected],
      ] as const) {
        const unknown = new RegExp(
          `not known whether any request is .*newly ${kind}.* at .*: the credentials that (.*) accepts`,
        )
        const isShown = new RegExp(`^newly ${kind} at`, 'm').test(out)
        const found = unknown.exec(out)?.[1] ?? (isShown ? 'example' : 'proven')
        assert.equal(found.replaceAll('`', ''), expected, out)
      }
    })
  }

  it('does not claim proof if the result depends on the trusted source', async () => {
    const hops = 'frontendPolicies: { http: { trustedHops: 1 } }\n'
    const office = rules(`require: "cidr('10.0.0.0/8').containsIP(source.address)"`)
    const { out } = await diffOf(config(office), config(office, hops))
    assert.match(out, /newly admitted.* at .*: `http.trustedHops` differs/)
    const other = rules(`require: "request.method == 'GET'"`)
    const { out: unread } = await diffOf(config(other), config(other, hops))
    assert.equal(unread, 'nothing changes: proven for every request\n')
  })

  it('fails as configured by options', async () => {
    const [narrow, wide] = [rules(`allow: "request.method == 'GET'"`), '    timeout: {}\n'].map(
      (policies) => config(policies),
    ) as [string, string]
    assert.equal((await diffOf(narrow, wide)).code, 0)
    assert.equal((await diffOf(narrow, wide, '--fail-on-newly-admitted')).code, 1)
    assert.equal((await diffOf(wide, narrow, '--fail-on-newly-admitted')).code, 0)
    assert.equal((await diffOf(wide, narrow, '--fail-on-change')).code, 1)
    assert.equal((await run('diff', 'one.yaml')).code, 2)
    assert.equal((await diffOf('gateways: 1\n', wide)).code, 1)
  })

  it('writes JSON', async () => {
    const { out } = await diffOf(
      config(rules('deny: "true"')),
      config('    timeout: {}\n'),
      '--json',
    )
    const { differences, untold } = JSON.parse(out)
    assert.deepEqual(untold, [])
    assert.equal(differences[0].kind, 'admitted')
    assert.equal(differences[0].example.method, 'GET')
  })
})

describe('tokens in the examples of portcullis diff', () => {
  const jwt = (issuer: string, more = '') =>
    `jwtAuthentication: { ${more}issuer: 'https://${issuer}.example', jwks: { inline: '{"keys":[]}' } }`
  const routed = (gateway: string, route: string) =>
    config(`    ${route}\n`).replace('{ port: 8080 }', `{ port: 8080${gateway} }`)

  it('are of an issuer that every policy on the path accepts, apart from Permissive ones', async () => {
    const deny = rules(`deny: "request.path == '/admin'"`)
    const old = routed('', `${jwt('i')}\n${deny}`)
    for (const inner of [jwt('i', 'mode: Permissive, '), jwt('k', 'mode: Permissive, ')]) {
      const { out } = await diffOf(old, routed(`, ${jwt('j')}`, inner), '--json')
      const { differences } = JSON.parse(out)
      const found = differences.filter(({ kind }: { kind: string }) => kind === 'admitted')
      assert.ok(found.length > 0, out)
      for (const { example } of found) assert.equal(example.identity.jwt.iss, 'https://j.example')
    }
  })

  it('name their issuer even if no rule reads the required token', async () => {
    const file = (more: string) =>
      `${routed('', jwt('j'))}policies:
- { name: p, target: { route: api }, traffic: { ${jwt('j', 'mode: Permissive, ')}${more} } }\n`
    const allow = `, authorization: { rules: [{ allow: "request.path == '/admin'" }] }`
    const { out } = await diffOf(file(''), file(allow), '--json')
    const [{ example }] = JSON.parse(out).differences
    assert.deepEqual(example.identity, { jwt: { iss: 'https://j.example' } })
  })
})

describe('settings of the process', () => {
  it('are not part of the Model, but are compared', async () => {
    const text = (connections: number) => `config: { limits: { connections: ${connections} } }\n`
    const { value } = loadText(text(1), 'x.yaml', { environment: {} }).result
    assert.ok(value !== undefined && !('settings' in value))
    const { code, out } = await diffOf(text(10), text(20), '--fail-on-change')
    assert.equal(code, 1, out)
    assert.match(out, /`config\.limits`/)
  })
})
