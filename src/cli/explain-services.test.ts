import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
after(() => rmSync(folder, { recursive: true }))

const HOST = "'127.0.0.1:9'"
const BACKEND = "{ host: '127.0.0.1:1' }"

function file(policies: string, backend = BACKEND): string {
  const path = join(folder, 'gateway.yaml')
  writeFileSync(
    path,
    `gateways: { default: { port: 8080 } }
routes:
- name: api
  policies: { ${policies} }
  backends: [${backend}]
`,
  )
  return path
}

interface Said {
  readonly outcome: string
  readonly reason?: string
  readonly notes: readonly string[]
}

async function explain(path: string, ...more: readonly string[]) {
  const { out, err, code } = await runWith(['explain', path, '--json', ...more])
  assert.equal(err, '')
  return { code, ...(JSON.parse(out) as Said) }
}

const AUTHZ = `extAuthz: { host: ${HOST} }`
const BY_PUT = `extAuthz: { conditional: [{ condition: "request.method == 'PUT'", host: ${HOST} }] }`
const PROC = `extProc: { host: ${HOST} }`
const PROC_OF_RESPONSES = `extProc: { host: ${HOST}, processingOptions: { requestHeaderMode: skip } }`
const limit = (type: string) =>
  `remoteRateLimit: { host: ${HOST}, domain: d, descriptors: [{ type: ${type}, entries: [{ key: k, value: "'v'" }] }] }`
const PICKER = `{ host: '127.0.0.1:1', policies: { inferenceRouting: { endpointPicker: { host: ${HOST} } } } }`
const rule = (text: string) => `authorization: { rules: [${text}] }`

describe('explain, if a service decides', () => {
  for (const [what, policies, backend, kind] of [
    ['extAuthz', AUTHZ, BACKEND, 'extAuthz'],
    [
      'extAuthz over HTTP',
      `extAuthz: { host: ${HOST}, protocol: { http: {} } }`,
      BACKEND,
      'extAuthz',
    ],
    ['an entry that applies', BY_PUT.replace('PUT', 'GET'), BACKEND, 'extAuthz'],
    ['extProc', PROC, BACKEND, 'extProc'],
    ['extProc of responses', PROC_OF_RESPONSES, BACKEND, 'extProc'],
    ['remoteRateLimit', limit('requests'), BACKEND, 'remoteRateLimit'],
    ['extAuthz of a backend', '', `{ host: '127.0.0.1:1', policies: { ${AUTHZ} } }`, 'extAuthz'],
    ['an endpoint picker', '', PICKER, 'inferenceRouting'],
    [
      'a response of the gateway itself',
      `${AUTHZ}, directResponse: { status: 200, body: x }`,
      BACKEND,
      'extAuthz',
    ],
    ['a processor before a rule of the backend', `${PROC}`, denying('true'), 'extProc'],
  ] as const) {
    it(`is neither allowed nor denied: ${what}`, async () => {
      const { code, outcome, reason = '' } = await explain(file(policies, backend))
      assert.deepEqual([code, outcome], [3, 'not-known'])
      assert.ok(reason.includes(`\`${kind}\` of \``), reason)
    })
  }

  function denying(text: string): string {
    return `{ host: '127.0.0.1:1', policies: { ${rule(`{ deny: "${text}" }`)} } }`
  }

  for (const [what, policies, code, backend] of [
    ['no entry applies', BY_PUT, 0],
    ['a rule denies in any case', `${AUTHZ}, ${rule('{ deny: "true" }')}`, 1],
    ['a rule denies before a processor sees it', `${PROC}, ${rule('{ deny: "true" }')}`, 1],
    ['a rule of the backend denies in any case', AUTHZ, 1, denying('true')],
    ['a token is missing', `${AUTHZ}, apiKey: { keys: [{ key: k }] }`, 1],
    ['tokens of models are counted, and no model is called', limit('tokens'), 0],
    ['the gateway counts by itself', 'localRateLimit: [{ maxTokens: 1, fillInterval: 1s }]', 0],
  ] as const) {
    it(`is known where ${what}`, async () => {
      assert.equal((await explain(file(policies, backend))).code, code)
    })
  }

  for (const [what, policies, backend] of [
    ['admits', `${AUTHZ}, ${rule('{ allow: "extauthz.role == \'a\'" }')}`, BACKEND],
    ['denies', `${AUTHZ}, ${rule('{ deny: "extauthz.role == \'a\'" }')}`, BACKEND],
    ['denies at the backend', AUTHZ, denying("!has(extauthz.role) || extauthz.role != 'a'")],
    [
      'responds',
      `${AUTHZ}, directResponse: { conditional: [{ condition: "!has(extauthz.a)", status: 403 }] }`,
      BACKEND,
    ],
  ] as const) {
    it(`is not known where what the service says ${what}`, async () => {
      assert.equal((await explain(file(policies, backend))).code, 3)
    })
  }

  it('reports that rate limits are not evaluated', async () => {
    const { notes } = await explain(file('localRateLimit: [{ maxTokens: 1, fillInterval: 1s }]'))
    assert.match(notes.join('\n'), /`localRateLimit` of `route:api` is not evaluated/)
  })
})

const CALL = [
  ...['-r', 'POST /v1/chat/completions', '-H', 'content-type: application/json', '--body'],
  '{"model":"m","messages":[{"role":"user","content":"x"}]}',
]
const model = (policies: string) =>
  `{ ai: { name: m, provider: { openAI: {} }, hostOverride: '127.0.0.1:1' }, policies: { ${policies} } }`
const guard = (phase: string, text: string) => `guardrails: { ${phase}: [${text}] }`
const regex = (action: string) => `{ regex: { action: ${action}, rules: [{ pattern: nothing }] } }`
const WEBHOOK = `{ webhook: { target: { host: ${HOST} } } }`
const TOOL = [
  ...['-r', 'POST /mcp', '-H', 'content-type: application/json', '--body'],
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}',
  ...['-H', 'accept: application/json, text/event-stream'],
]
const tools = (policies: string) =>
  `{ mcp: { targets: [{ name: one, mcp: { host: 'http://127.0.0.1:1/mcp' } }] }, policies: { ${policies} } }`

describe('explain, if a response is guarded', () => {
  for (const [what, backend, args, code, policies = ''] of [
    ['a model, rejecting', model(guard('response', regex('Reject'))), CALL, 3],
    ['a model, by a service', model(guard('response', WEBHOOK)), CALL, 3],
    ['a model, masking', model(guard('response', regex('Mask'))), CALL, 0],
    ['a prompt, rejecting', model(guard('request', regex('Reject'))), CALL, 0],
    ['a prompt, by a service', model(guard('request', WEBHOOK)), CALL, 3],
    ['tokens of a model by a service', model(''), CALL, 3, limit('tokens')],
    ['tools, rejecting', tools(guard('response', regex('Reject'))), TOOL, 3],
    ['tools, masking', tools(guard('response', regex('Mask'))), TOOL, 0],
  ] as const) {
    it(`${what}: exit code ${code}`, async () => {
      const said = await explain(file(policies, backend), ...args)
      assert.equal(said.code, code, JSON.stringify(said))
      if (code === 3) assert.match(said.reason ?? '', /`(guardrails|remoteRateLimit)` of `/)
    })
  }
})

describe('explain, if parts of a request are not evaluated', () => {
  const POSTED = ['-r', 'POST /', '--body', 'x'.repeat(50)]
  const KEY = 'apiKey: { location: { header: { name: x-api-key } }, keys: [{ key: k }] }'
  const BASIC = "basicAuth: { mode: Optional, users: ['a:{SHA}/vNB+F2HQ559kaLUZbmHHvZrXpg='] }"
  for (const [what, policies, args, code, backend] of [
    ['a key that is not verified', KEY, ['-H', 'x-api-key: k'], 3],
    ['a key that is said to be good', KEY, ['-H', 'x-api-key: k', '--api-key', '{}'], 0],
    ['no key', KEY, [], 1],
    ['a password that is not verified', BASIC, ['-H', 'authorization: Basic YTpi'], 3],
    ['no password, which is optional', BASIC, [], 0],
    ['a header that is no password', BASIC, ['-H', 'authorization: Bearer x'], 0],
    ['one of two keys', `${KEY}, ${BASIC}`, ['-H', 'authorization: Basic YTpi'], 1],
    ['a body that is buffered', 'buffer: { request: { maxBytes: 50 } }', POSTED, 0],
    ['a body that is too long for that', 'buffer: { request: { maxBytes: 49 } }', POSTED, 1],
    [
      'a body that is too long to be shown',
      `extAuthz: { host: ${HOST}, includeRequestBody: { maxRequestBytes: 10 } }`,
      POSTED,
      1,
    ],
    ['an address', '', [], 3, '{ dynamic: {} }'],
  ] as const) {
    it(`${what}: exit code ${code}`, async () => {
      const said = await explain(file(policies, backend), ...args)
      assert.equal(said.code, code, JSON.stringify(said))
    })
  }
})
