import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const root = mkdtempSync(join(tmpdir(), 'portcullis-'))
after(() => rmSync(root, { recursive: true }))

const GOOD = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: edge, namespace: apps }
spec:
  gatewayClassName: anything
  listeners: [{ name: http, protocol: HTTP, port: 80, hostname: '*.a.test' }]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: orders, namespace: apps }
spec:
  parentRefs: [{ name: edge }]
  hostnames: [orders.a.test]
  rules: [{ backendRefs: [{ name: orders, port: 80 }] }]
---
apiVersion: portcullis.dev/v1alpha1
kind: ProxyPolicy
metadata: { name: only, namespace: apps }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: orders }]
  traffic:
    authorization: { action: Require, policy: { matchExpressions: ["request.method == 'GET'"] } }
`

function route(namespace: string, spec: object): object {
  const rules = [{ backendRefs: [{ name: 'orders', port: 80 }] }]
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'other', namespace },
    spec: { parentRefs: [{ name: 'edge', namespace: 'apps' }], rules, ...spec },
  }
}

function policy(target: string, expression: string): object {
  return {
    apiVersion: 'portcullis.dev/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: 'other', namespace: 'apps' },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: target }],
      traffic: { authorization: { action: 'Deny', policy: { matchExpressions: [expression] } } },
    },
  }
}

/** Objects of another team that a cluster does not accept, by a word of the message. */
const NOT_ACCEPTED: Readonly<Record<string, readonly object[]>> = {
  NotAllowedByListeners: [route('other', {})],
  NoMatchingListenerHostname: [route('apps', { hostnames: ['x.b.test'] })],
  NoMatchingParent: [route('apps', { parentRefs: [{ name: 'edge', sectionName: 'htp' }] })],
  RefNotPermitted: [
    route('apps', {
      hostnames: ['other.a.test'],
      rules: [{ backendRefs: [{ name: 'orders', namespace: 'other', port: 80 }] }],
    }),
  ],
  'not found': [policy('missing', 'true')],
  PC0102: [
    route('apps', { hostnames: ['other.a.test'] }),
    policy('other', 'request.method.nonsense()'),
  ],
  PC0701: [{ ...route('apps', {}), spec: { rules: 5 } }],
}

function folder(name: string, others: readonly object[]): string {
  const path = join(root, name.replaceAll(' ', '-'))
  mkdirSync(path)
  writeFileSync(join(path, 'good.yaml'), GOOD)
  writeFileSync(
    join(path, 'others.json'),
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: others }),
  )
  return path
}

const good = folder('good', [])

describe('objects that a cluster does not accept', () => {
  for (const [word, others] of Object.entries(NOT_ACCEPTED)) {
    it(`${word}: the commands judge the others, and print a warning`, async () => {
      const path = folder(word, others)
      const effective = await runWith(['effective', '-f', path])
      assert.equal(effective.code, 0)
      assert.match(effective.out, /route HTTPRoute\/apps\/orders.*guarded/)
      const ask = (method: string) =>
        runWith(['explain', '-f', path, '--request', `${method} http://orders.a.test/`])
      const [allowed, denied] = [await ask('GET'), await ask('PUT')]
      assert.deepEqual([allowed.code, denied.code], [0, 1])
      assert.match(denied.out, /request\.method == 'GET'/)
      const diff = await runWith(['diff', path, path, '--fail-on-change'])
      assert.equal(diff.code, 0)
      for (const { err } of [effective, allowed, diff]) {
        assert.match(err, /warning\[PC0/)
        assert.match(err, new RegExp(word))
        assert.doesNotMatch(err, /error\[/)
      }
    })

    it(`${word}: check reports it as an error`, async () => {
      const { code, out } = await runWith(['check', join(root, word.replaceAll(' ', '-'))])
      assert.equal(code, 1)
      assert.match(out, new RegExp(word))
    })
  }

  it('diff sees a policy that fails closed', async () => {
    const other = route('apps', { hostnames: ['other.a.test'] })
    const [before, now] = [folder('open', [other]), join(root, 'PC0102')]
    const tighter = await runWith(['diff', before, now])
    assert.match(tighter.out, /newly denied(.|\n)*after: {2}invalid-policy/)
    const looser = await runWith(['diff', now, before, '--fail-on-newly-admitted'])
    assert.equal(looser.code, 1)
    assert.match(looser.out, /newly admitted at/)
  })

  it('lint fails for mistakes of policies, not for conditions of other objects', async () => {
    const codes: Record<string, number> = {}
    for (const word of Object.keys(NOT_ACCEPTED)) {
      codes[word] = (await runWith(['lint', join(root, word.replaceAll(' ', '-'))])).code
    }
    const { PC0102, 'not found': missing, ...conditions } = codes
    assert.deepEqual([PC0102, missing], [1, 1])
    assert.deepEqual(new Set(Object.values(conditions)), new Set([0]))
    assert.equal((await runWith(['lint', good])).code, 0)
  })

  it('a manifest that cannot be read stops them', async () => {
    const path = folder('unreadable', [])
    writeFileSync(join(path, 'odd.yaml'), 'kind: [')
    assert.equal((await runWith(['effective', '-f', path])).code, 1)
  })
})
