import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const root = mkdtempSync(join(tmpdir(), 'portcullis-'))
after(() => rmSync(root, { recursive: true }))

const EDGE = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: edge, namespace: apps }
spec:
  gatewayClassName: anything
  listeners:
  - { name: http, protocol: HTTP, port: 80 }
  - { name: https, protocol: HTTPS, port: 443, tls: { certificateRefs: [{ name: cert }] } }
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: orders, namespace: apps }
spec:
  parentRefs: [{ name: edge }]
  rules: [{ backendRefs: [{ name: orders, port: 80 }] }]
`

function policy(expression: string): string {
  return `apiVersion: portcullis.dev/v1alpha1
kind: ProxyPolicy
metadata: { name: only, namespace: apps }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: orders }]
  traffic:
    authorization: { action: Require, policy: { matchExpressions: [${JSON.stringify(expression)}] } }
`
}

/** A folder of manifests, some of them in a subfolder. */
function folder(name: string, expression: string): string {
  const path = join(root, name)
  mkdirSync(join(path, 'policies'), { recursive: true })
  writeFileSync(join(path, 'edge.yaml'), EDGE)
  writeFileSync(join(path, 'policies', 'only.yml'), policy(expression))
  return path
}

const GET = "request.method == 'GET'"

describe('manifests at the command line', () => {
  it('validate assumes that missing Services and certificates exist', async () => {
    const { code, out } = await runWith(['validate', folder('good', GET)])
    assert.equal(code, 0)
    assert.match(out, /PC0711\]: Service apps\/orders/)
    assert.match(out, /PC0711\]: Secret apps\/cert/)
  })

  it('validate names object and field of an error', async () => {
    const { code, out } = await runWith(['validate', folder('bad', 'request.metod')])
    assert.equal(code, 1)
    assert.match(
      out,
      /ProxyPolicy apps\/only: spec\.traffic\.authorization\.policy\.matchExpressions\[0\]/,
    )
  })

  it('validate reports a manifest that is not an object, with its line', async () => {
    const file = join(root, 'odd.yaml')
    writeFileSync(file, `${EDGE}---\nkind: ProxyPolicy\napiVersion: portcullis.dev/v1alpha1\n`)
    const { code, out } = await runWith(['validate', file])
    assert.equal(code, 1)
    assert.match(out, /PC0710.*\n.*odd\.yaml:17:1/)
  })

  it('lint finds rules that never match', async () => {
    const { code, out } = await runWith(['lint', folder('never', "jwt.sub == 'alice'")])
    assert.equal(code, 1)
    assert.match(out, /AZ001/)
  })

  it('effective lists the policy at the route', async () => {
    const { code, out } = await runWith(['effective', '-f', folder('effective', GET)])
    assert.equal(code, 0)
    assert.match(out, /route HTTPRoute\/apps\/orders.*guarded/)
  })

  for (const [method, expected] of [
    ['GET', 0],
    ['POST', 1],
  ] as const) {
    it(`explain: ${method} is ${expected === 0 ? 'allowed' : 'denied'}`, async () => {
      const path = folder('explain', GET)
      const args = ['explain', '-f', path, '--listener', 'apps/edge/http']
      const { code } = await runWith([...args, '--request', `${method} http://a.test/`])
      assert.equal(code, expected)
    })
  }

  it('diff shows what a change admits', async () => {
    const [old, now] = [folder('old', GET), folder('now', `${GET} || request.method == 'PUT'`)]
    const { code, out } = await runWith(['diff', old, now, '--fail-on-newly-admitted'])
    assert.equal(code, 1)
    assert.match(out, /PUT/)
    const same = await runWith(['diff', old, old, '--fail-on-change'])
    assert.equal(same.code, 0)
  })

  it('a configuration file is not treated as manifests', async () => {
    const file = join(root, 'gateway.yaml')
    writeFileSync(file, 'gateways:\n  default: { port: 8080 }\n')
    const { code, out } = await runWith(['validate', file])
    assert.equal(code, 0)
    assert.doesNotMatch(out, /contain no Gateway/)
  })
})
