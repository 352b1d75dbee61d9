import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { asFindings } from '../analysis/lint/lint.ts'
import { runWith } from './fixtures/run.ts'

const NOWHERE = {
  severity: 'warning',
  message: '',
  origin: { kind: 'file', file: '', line: 1, column: 1 },
} as const
const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
after(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'gateway.yaml')

async function check(text: string, environment: Readonly<Record<string, string>> = {}) {
  writeFileSync(path, text)
  const all = { PATH: process.env['PATH'] ?? '', ...environment }
  const json = await runWith(['check', '--json', path], { environment: all })
  const strict = await runWith(['check', '--deny-warnings', path], { environment: all })
  const { code, out } = await runWith(['check', path], { environment: all })
  const { diagnostics } = JSON.parse(json.out) as { diagnostics: readonly { code: string }[] }
  return { code, out, strict: strict.code, codes: diagnostics.map((one) => one.code) }
}

const GATEWAY = 'gateways: { default: { port: 8080 } }\n'
const routed = (policies: string) =>
  `${GATEWAY}routes:\n- policies:\n    ${policies}\n  backends: [{ host: 'a:80' }]\n`
const llm = (policies: string, key = "'sk-1'") => `${GATEWAY}llm:
  policies:
    ${policies}
  models:
  - { name: small, provider: openAI, params: { model: gpt-4o-mini, apiKey: ${key} } }
`
const key = (allowed: string) =>
  llm(`apiKey: { keys: [{ keyHash: 'sha256:${'0'.repeat(64)}', allowedModels: [${allowed}] }] }`)
const server = (stdio: string) => `${GATEWAY}mcp:\n  targets: [{ name: files, stdio: ${stdio} }]\n`

/** Files that are served as they are, with the warning that `check` must not keep back. */
const WARNED: Readonly<Record<string, readonly [code: string, text: string, fixed: string]>> = {
  'a page of any origin with credentials': [
    'AZ026',
    routed("cors: { allowOrigins: ['*'], allowCredentials: true }"),
    routed("cors: { allowOrigins: ['https://a.test'], allowCredentials: true }"),
  ],
  'a path that looks like a pattern': [
    'AZ023',
    routed(`authorization: { rules: [{ deny: "request.path == '/api/*'" }, { allow: 'true' }] }`),
    routed(
      `authorization: { rules: [{ deny: "request.path.startsWith('/api/')" }, { allow: "request.method == 'GET'" }] }`,
    ),
  ],
  'a budget in dollars without prices': [
    'PC0324',
    llm("budgets: [{ usd: '5', per: Day }]"),
    `config:
  modelCatalog: [{ inline: { providers: { openai: { models: { gpt-4o-mini: { rates: { input: '1', output: '2' } } } } } } }]
${llm("budgets: [{ usd: '5', per: Day }]")}`,
  ],
  'an unknown name in allowedModels': ['AZ035', key('smal'), key('small')],
  'a pattern in allowedModels that no model matches': ['AZ035', key("'gpt-*'"), key("'sm*'")],
  'a program that does not exist': [
    'PC0323',
    server('{ cmd: no-such-program }'),
    server(`{ cmd: '${process.execPath}' }`),
  ],
  'a path of a program that does not exist': [
    'PC0323',
    server('{ cmd: ./no-such-program }'),
    server('{ cmd: sh }'),
  ],
}

describe('check', () => {
  for (const [what, [code, text, fixed]] of Object.entries(WARNED)) {
    it(`${what}: a warning, which --deny-warnings counts`, async () => {
      const found = await check(text)
      assert.ok(found.codes.includes(code), found.out)
      assert.deepEqual([found.code, found.strict], [0, 1])
      const right = await check(fixed)
      assert.deepEqual([right.codes.includes(code), right.code], [false, 0], right.out)
    })
  }

  it('the default of an unset variable as a key: as `init llm` writes it', async () => {
    const text = llm('timeout: {}', `'\${API_KEY:-unset}'`).replace(
      '  policies:\n    timeout: {}\n',
      '',
    )
    const { out, codes, strict } = await check(text)
    assert.deepEqual([codes, strict], [['PC0325'], 1])
    assert.match(out, /`apiKey` is the text `unset`: environment variable API_KEY is not set/)
    assert.match(out, /gateway\.yaml:4:\d+/)
    assert.deepEqual((await check(text, { API_KEY: 'sk-2' })).codes, [])
    assert.deepEqual((await check(`# ${text}`.replaceAll('\n', '\n# '))).codes, ['PC0223'])
    assert.deepEqual(
      (await check(text.replace('apiKey', 'baseUrl'))).codes.includes('PC0325'),
      false,
    )
  })

  it('the Admin UI on a gateway: sign-in is required, and must lead there', async () => {
    const config = (path: string) => `config:
  adminAuth:
    oidc: { issuer: 'https://login.test', clientId: a, redirectUri: 'https://a.test${path}' }
`
    const text = 'gateways: { default: { port: 8080 } }\nui: {}\n'
    const about = async (...given: Parameters<typeof check>) => {
      const { codes } = await check(...given)
      return codes.filter((code) => code >= 'PC0326' && code < 'PC0400')
    }
    assert.deepEqual(await about(text), ['PC0326'])
    assert.deepEqual(await about(text, { PORTCULLIS_ADMIN_TOKEN: 'x'.repeat(16) }), [])
    assert.deepEqual(await about(`config: { adminAddr: '0.0.0.0:15000' }\n${text}`), [])
    assert.deepEqual(await about(config('/api/auth/callback') + text), ['PC0327'])
    assert.deepEqual(await about(config('/ui/api/auth/callback') + text), [])
  })

  it('a comment suppresses a warning of whoever reports it, and none of the errors', async () => {
    const text = WARNED['a path that looks like a pattern']?.[1] ?? assert.fail()
    const lines = text.split('\n')
    const at = lines.findIndex((line) => line.includes('/api/*'))
    const hushed = lines.toSpliced(at, 0, '    # lint: AZ023 there is such a path').join('\n')
    assert.ok(!(await check(hushed)).codes.includes('AZ023'))
    const idle = `# lint: AZ023 nothing\n${text}`
    assert.deepEqual((await check(idle)).codes.includes('AZ021'), true)
    const wrong = routed(
      `authorization: { rules: [{ allow: "source.address == '10.0.0.0/8'" }] }`,
    ).replace('    authorization', '    # lint: AZ003 no\n    authorization')
    const found = await check(wrong)
    assert.equal(found.code, 1)
    assert.ok(found.codes.includes('PC0107'), found.out)
  })

  it('says the same as lint about policies', async () => {
    for (const [, text] of Object.values(WARNED)) {
      writeFileSync(path, text)
      const { out } = await runWith(['lint', '--json', path])
      const linted = (JSON.parse(out).diagnostics as readonly { code: string }[]).map(
        (one) => one.code,
      )
      const read = asFindings((await check(text)).codes.map((code) => ({ ...NOWHERE, code })))
      const codes = read.map(({ diagnostic }) => diagnostic.code)
      assert.deepEqual(
        linted.filter((one) => !codes.includes(one)),
        [],
      )
    }
  })
})
