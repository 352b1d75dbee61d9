import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
after(() => rmSync(folder, { recursive: true }))

function written(name: string, text: string): string {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

const SERVICE = "extAuthz: { host: '127.0.0.1:9', protocol: { http: {} } }"
const file = (name: string, path: string, service: string, level = 'route') =>
  written(
    name,
    `gateways: { default: { port: 8080${level === 'gateway' ? `, ${service}` : ''} } }
routes:
- name: api
  policies: { authorization: { rules: [{ deny: "request.path == '${path}'" }] }${
    level === 'route' ? `, ${service}` : ''
  } }
  backends: [{ host: '127.0.0.1:1' }]
`,
  )

const CONDITIONAL =
  "extAuthz: { conditional: [{ condition: \"request.method == 'PUT'\", host: '127.0.0.1:9', protocol: { http: {} } }] }"

const SIGN_IN =
  "oidc: { issuer: 'https://a.example', clientId: b, redirectUri: 'https://c.example/d/callback' }"

/** An external service may deny requests that the rules admit, and cannot be called here. */
describe('if a service decides as well', () => {
  for (const [what, service, level, policy] of [
    ['on the route', SERVICE, 'route', 'route:api'],
    ['on the gateway', SERVICE, 'gateway', 'gateway:default'],
    ['by condition', CONDITIONAL, 'route', 'route:api'],
    ['which people sign in at', SIGN_IN, 'route', 'route:api'],
  ] as const) {
    it(`diff says so of what is admitted: ${what}`, async () => {
      const [old, now] = [
        file('old.yaml', '/x', service, level),
        file('now.yaml', '/y', service, level),
      ]
      const { out } = await runWith(['diff', old, now])
      const said = `admitted, if ${service.split(':', 1)[0]} of \`${policy}\` admits it`
      assert.ok(out.includes(`after:  ${said}`), out)
      assert.ok(out.includes(`before: ${said}`), out)
      const { differences } = JSON.parse((await runWith(['diff', old, now, '--json'])).out)
      assert.deepEqual(
        differences.map((one: { services: unknown }) => one.services),
        [[policy], [policy]],
      )
      const { code } = await runWith(['diff', old, now, '--fail-on-newly-admitted'])
      assert.equal(code, 1)
    })

    it(`prove does not call refuted what nobody tried: ${what}`, async () => {
      file('gateway.yaml', '/x', service, level)
      const suite = (path: string) =>
        written(
          'suite.yaml',
          `name: services\nconfig: gateway.yaml\ninvariants:\n- { name: path, admitted: "request.path != '${path}'" }\n`,
        )
      const unclear = await runWith(['prove', suite('/z')])
      assert.equal(unclear.code, 3)
      assert.match(unclear.out, /not known: path/)
      assert.ok(unclear.out.includes(`${service.split(':', 1)[0]} of \`${policy}\``), unclear.out)
      assert.match(unclear.out, /GET \/z/)
      const proven = await runWith(['prove', suite('/x')])
      assert.equal(proven.code, 0, proven.out)
    })
  }

  it('and reports nothing of it if there is none', async () => {
    const [old, now] = [
      file('old.yaml', '/x', 'timeout: {}'),
      file('now.yaml', '/y', 'timeout: {}'),
    ]
    assert.match((await runWith(['diff', old, now])).out, /after: {2}admitted\n/)
    file('gateway.yaml', '/x', 'timeout: {}')
    const suite = written(
      'suite.yaml',
      `name: services\nconfig: gateway.yaml\ninvariants:\n- { name: path, admitted: "request.path != '/z'" }\n`,
    )
    assert.match((await runWith(['prove', suite])).out, /refuted: path/)
  })
})
