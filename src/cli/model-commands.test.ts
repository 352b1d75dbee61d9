import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'models-'))
after(() => rmSync(FOLDER, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(FOLDER, name)
  writeFileSync(path, text)
  return path
}

const KEYS = 'apiKey: { keys: [{ key: sk-12345678901234567890, metadata: { team: eng } }] }'

const config = (policies: string, smart = '') => `gateways: { default: { port: 4000 } }
llm:
  policies: { ${policies} }
  models:
  - { name: fast, provider: openAI, params: { apiKey: x } }
  - { name: smart, provider: openAI, params: { apiKey: x }${smart} }
  - { name: hidden, provider: openAI, visibility: internal, params: { apiKey: x } }
  virtualModels:
  - name: auto
    routing: { failover: { targets: [{ model: smart, priority: 0 }, { model: hidden, priority: 1 }] } }
`
const RULE = `, authorization: { rules: [{ require: "apiKey.team == 'eng' && llm.inputTokens < 100" }] }`
const WEIGHTED =
  'routing: { weighted: { targets: [{ model: smart, weight: 1 }, { model: hidden, weight: 1 }] } }'
const call = (model: string, content = 'hello') => [
  ...['-r', 'POST /v1/chat/completions'],
  ...['--body', JSON.stringify({ model, messages: [{ role: 'user', content }] })],
]
const key = (metadata: object) => ['--api-key', JSON.stringify(metadata)]

describe('commands with models', () => {
  const guarded = file('guarded.yaml', config(KEYS, RULE))

  it('effective lists models, their providers, and unprotected ones', async () => {
    const { out } = await runWith(['effective', guarded])
    assert.match(out, /model fast {2}served by fast {2}guarded/)
    assert.match(out, /model auto {2}failover, served by smart, hidden {2}guarded/)
    assert.doesNotMatch(out, /model hidden/)
    const open = file('open.yaml', config(''))
    const { out: json } = await runWith(['effective', open, '--json'])
    const [{ models }] = JSON.parse(json).listeners[0].routes[0].backends
    assert.deepEqual(
      models.map(({ name, protection }: Record<string, string>) => [name, protection]),
      [
        ['fast', 'unprotected'],
        ['smart', 'unprotected'],
        ['auto', 'unprotected'],
      ],
    )
    assert.equal((await runWith(['effective', open, '--fail-on-unprotected'])).code, 1)
  })

  it('effective reports whether rules of single models deny anything', async () => {
    const protections = async (rule: string) => {
      const own = `, authorization: { rules: [${rule}] }`
      const { out } = await runWith(['effective', file('own.yaml', config('', own)), '--json'])
      const [{ models, providers }] = JSON.parse(out).listeners[0].routes[0].backends
      const found = Object.fromEntries(
        [...providers, ...models].map(({ name, protection }) => [name, protection]),
      )
      // A caller that is denied one model is served by the other.
      assert.deepEqual([found.fast, found.auto], ['unprotected', 'unprotected'], rule)
      return found.smart
    }
    assert.equal(await protections(`{ require: "request.headers.team == 'eng'" }`), 'guarded')
    assert.equal(await protections(`{ allow: "llm.requestModel == 'other'" }`), 'guarded')
    assert.equal(await protections('{ require: "llm.inputTokens < 1000" }'), 'guarded')
    assert.equal(await protections('{ require: "llm.streaming == false" }'), 'guarded')
    assert.equal(await protections('{ require: "!has(llm.tools)" }'), 'guarded')
    assert.equal(await protections('{ allow: "true" }'), 'unprotected')
    assert.equal(await protections(`{ deny: "llm.streaming" }`), 'open-by-default')
  })

  it('lint warns of a failover that bypasses the rules of a model', async () => {
    const lint = async (text: string) => (await runWith(['lint', file('lint.yaml', text)])).out
    const own = await lint(config('', RULE))
    assert.match(own, /AZ018/)
    assert.match(own, /`hidden` has no authorization, unlike `?smart`? of the same virtual model/)
    assert.doesNotMatch(own, /`fast` has no authorization/)
    const weighted = config('', RULE).replace(/routing: .*/, WEIGHTED)
    assert.doesNotMatch(await lint(weighted), /AZ018/)
    assert.doesNotMatch(await lint(config(KEYS)), /AZ018/)
  })

  it('the list of models has virtual ones regardless of the target', async () => {
    const routing =
      "routing: { conditional: { targets: [{ model: smart, when: 'llm.inputTokens > 9' }] } }"
    const listed = async (text: string) => {
      const path = file('virtual.yaml', text)
      const { out } = await runWith([
        ...['explain', '-f', path, '--json', '-r', 'GET /v1/models'],
        ...key({ team: 'ops' }),
      ])
      return JSON.parse(out).models
    }
    const conditional = config(KEYS).replace(/routing: .*/, routing)
    assert.deepEqual(await listed(conditional), ['fast', 'smart', 'auto'])
    for (let turn = 0; turn < 8; turn++) {
      const weighted = config(KEYS, RULE).replace(/routing: .*/, WEIGHTED)
      assert.deepEqual(await listed(weighted), ['fast', 'auto'])
    }
  })

  it('explain lists the models that a caller can use, independent of the call', async () => {
    const models = async (metadata: object) => {
      const { out, code } = await runWith([
        ...['explain', '-f', guarded, '--json', '-r', 'GET /v1/models'],
        ...key(metadata),
      ])
      assert.equal(code, 0)
      return JSON.parse(out).models
    }
    // The rule on tokens is evaluated when the model is called.
    assert.deepEqual(await models({ team: 'eng' }), ['fast', 'smart', 'auto'])
    assert.deepEqual(await models({ team: 'ops' }), ['fast', 'auto'])
    assert.deepEqual(await models({ team: 'eng', allowedModels: ['smart'] }), ['smart'])
    const { out } = await runWith([
      ...['explain', '-f', guarded, '-r', 'GET /v1/models'],
      ...key({ team: 'ops' }),
    ])
    assert.match(out, /models: fast, auto\n/)
  })

  it('explain reports why a key may not use a model', async () => {
    const { out, code } = await runWith([
      ...['explain', '-f', guarded, ...call('smart')],
      ...key({ team: 'eng', allowedModels: ['fast'] }),
    ])
    assert.equal(code, 1)
    assert.match(
      out,
      /denied \(403: authorization: This API key is not allowed to use this model\.\)/,
    )
  })

  it('explain reports what guards reject, and what depends on a service', async () => {
    const guards = (request: string) =>
      file('guards.yaml', config(`${KEYS}, guardrails: { request: [${request}] }`))
    const regex =
      '{ regex: { action: Reject, rules: [{ builtin: email }] }, rejection: { status: 422 } }'
    const explain = (path: string, content: string) =>
      runWith(['explain', '-f', path, '--json', ...call('fast', content), ...key({ team: 'eng' })])
    const rejected = await explain(guards(regex), 'ann@example.com')
    const { outcome, status } = JSON.parse(rejected.out)
    assert.deepEqual([rejected.code, outcome, status], [1, 'denied', 422])
    assert.equal((await explain(guards(regex), 'hello')).code, 0)
    const webhook = "{ webhook: { target: { host: '127.0.0.1:9' } } }"
    assert.equal(JSON.parse((await explain(guards(webhook), 'hello')).out).outcome, 'not-known')
    const both = await explain(guards(`${webhook}, ${regex}`), 'ann@example.com')
    assert.equal(JSON.parse(both.out).outcome, 'denied')
  })

  it('test decides calls to models by their bodies', async () => {
    const rules = config(
      KEYS,
      RULE.replace("apiKey.team == 'eng'", "request.headers.team == 'eng'"),
    )
    const cases = [
      ['eng', 'smart', 'hello', 200],
      ['ops', 'smart', 'hello', 403],
      ['ops', 'fast', 'hello', 200],
      ['eng', 'smart', 'x'.repeat(1000), 403],
      ['ops', 'none', 'hello', 404],
    ] as const
    const content = {
      name: 'calls',
      config: file('tested.yaml', rules),
      requests: cases.map(([team, model, content, expect]) => ({
        method: 'POST',
        path: '/v1/chat/completions',
        headers: { team, authorization: 'Bearer sk-12345678901234567890' },
        body: JSON.stringify({ model, max_tokens: 5, messages: [{ role: 'user', content }] }),
        expect,
      })),
    }
    const suite = file('suite.yaml', JSON.stringify(content))
    const { out, err, code } = await runWith(['test', suite])
    assert.equal(code, 0, `${out}${err}`)
  })
})
