import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
after(() => rmSync(folder, { recursive: true }))

const JWT = `    jwtAuthentication: { issuer: 'https://i.test', jwks: { inline: '{"keys":[]}' } }\n`

function file(rule: string, more = '', comment = ''): string {
  const path = join(folder, 'gateway.yaml')
  writeFileSync(
    path,
    `gateways: { default: { port: 8080 } }
routes:
- name: api
  policies:
${more}    authorization:
      rules:
${comment}      - ${rule}
  backends: [{ host: 'a:80' }]
`,
  )
  return path
}

describe('validate', () => {
  for (const [what, rule, code] of [
    ['a rule on a token that nothing verifies', "allow: jwt.sub == 'alice'", 'AZ001'],
    ['a server name without TLS', "require: destination.hostname == 'a'", 'AZ004'],
    ['a method in lower case', "allow: request.method == 'get'", 'AZ022'],
    ['a Deny rule that is skipped', "deny: request.headers['x'] != '1'", 'AZ002'],
    [
      'rules that admit nothing',
      "require: request.method == 'A' && request.method == 'B'",
      undefined,
    ],
  ] as const) {
    it(`rejects ${what}${code === undefined ? ' only where it is an error of lint' : ''}`, async () => {
      const { code: exit, out } = await runWith(['validate', file(rule)])
      if (code === undefined) assert.match(out, /warning\[AZ010\]/)
      else assert.match(out, new RegExp(`error\\[${code}\\]`))
      assert.equal(exit, code === undefined ? 0 : 1)
    })
  }

  it('accepts the rule with its authentication, and findings that a comment explains', async () => {
    const rule = "allow: jwt.sub == 'alice'"
    assert.equal((await runWith(['validate', file(rule, JWT)])).code, 0)
    const comment = '      # lint: AZ001 the token comes with the next change\n'
    assert.equal((await runWith(['validate', file(rule, '', comment)])).code, 0)
  })

  it('reports the same for standard input as for a file', async () => {
    const text = `gateways: { default: { port: 8080 } }\nroutes:\n- policies: { authorization: { rules: [{ allow: "jwt.sub == 'a'" }] } }\n  backends: [{ host: 'a:80' }]\n`
    const { code, out } = await runWith(['validate', '-'], { readInput: () => text })
    assert.match(out, /error\[AZ001\]/)
    assert.equal(code, 1)
  })

  it('agrees with lint about keys', async () => {
    const set = '{"keys":[{"kty":"RSA","kid":"a","n":"AQAB","e":"AQAB"}]}'
    const keys = `    jwtAuthentication: { issuer: 'https://i.test', jwks: { inline: '${set}' } }\n`
    const path = file("allow: jwt.sub == 'alice'", keys)
    const [validated, linted] = [await runWith(['validate', path]), await runWith(['lint', path])]
    const codes = (out: string) => [...out.matchAll(/\[(PC05\d\d)\]/g)].map(([, code]) => code)
    assert.ok(codes(validated.out).length > 0, validated.out)
    assert.deepEqual(codes(linted.out), codes(validated.out))
    assert.equal(linted.code, validated.code)
  })
})
