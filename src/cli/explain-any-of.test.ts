import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const folder = mkdtempSync(join(tmpdir(), 'explain-any-of-'))
after(() => rmSync(folder, { recursive: true }))
const JWKS = '{"keys":[]}'

describe('explain if one of several credentials is enough', () => {
  const several = join(folder, 'any-of.yaml')
  before(() => {
    writeFileSync(
      several,
      `gateways: { default: { port: 8080 } }
routes:
${['Strict', 'Permissive']
  .map(
    (mode) => `- name: ${mode}
  matches: [{ path: { pathPrefix: /${mode} } }]
  policies:
    authentication:
      mode: ${mode}
      anyOf:
      - jwtAuthentication: { issuer: https://issuer.test, jwks: { inline: '${JWKS}' } }
      - basicAuth: { users: ['bob:{SHA}/vNB+F2HQ559kaLUZbmHHvZrXpg='] }
    authorization:
      rules:
      - deny: has(jwt.sub) && has(basicAuth.username)
      - deny: jwt.sub == 'carol'
  backends: [{ host: '127.0.0.1:9001' }]
`,
  )
  .join('')}`,
    )
  })
  const TOKEN = ['--claims', '{"iss":"https://issuer.test","sub":"carol"}']
  const FOREIGN = ['--claims', '{"iss":"https://other.test","sub":"carol"}']
  for (const [mode, who, args, code] of [
    ['Strict', 'nobody', [], 1],
    ['Strict', 'a user', ['--user', 'bob'], 0],
    ['Strict', 'a token', TOKEN, 1],
    ['Strict', 'the token of another issuer', FOREIGN, 1],
    ['Strict', 'the token of another issuer and a user', [...FOREIGN, '--user', 'bob'], 0],
    ['Permissive', 'nobody', [], 0],
    ['Permissive', 'the token of another issuer', FOREIGN, 0],
    ['Permissive', 'a token', TOKEN, 1],
    ['Permissive', 'an API key, which is none of them', ['--api-key', '{"user":"x"}'], 0],
  ] as const) {
    it(`${mode}, ${who}: ${code === 0 ? 'allowed' : 'not'}`, async () => {
      const found = await runWith(['explain', '-f', several, '-r', `/${mode}`, ...args])
      assert.equal(found.code, code, found.out)
    })
  }
})
