import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defaultSettings } from '../../sources/file/sections/config.ts'
import { snapshotOf } from '../cluster/snapshot.ts'
import { readManifests, withClasses } from '../manifests.ts'
import { translate } from '../translate/translate.ts'
import { RuleHealth } from './health.ts'

const CONTROLLER = 'portcullis.dev/controller'

/** What `RulesHealthy` says about policies with these `traffic` sections, on one Gateway. */
async function findingsOf(...traffic: readonly object[]): Promise<readonly string[]> {
  const policies = traffic.map((section, index) => ({
    apiVersion: 'portcullis.dev/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: `p${index}`, namespace: 'shop', generation: 1 },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'edge' }],
      traffic: section,
    },
  }))
  const gateway = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'edge', namespace: 'shop', generation: 1 },
    spec: {
      gatewayClassName: 'portcullis',
      listeners: [{ name: 'http', protocol: 'HTTP', port: 80 }],
    },
  }
  const text = JSON.stringify({ kind: 'List', items: [gateway, ...policies] })
  const { objects } = readManifests([{ file: 'a', text }])
  const options = { controllerName: CONTROLLER, settings: defaultSettings() }
  const { models } = translate(snapshotOf(withClasses(objects, CONTROLLER)), options)
  const health = new RuleHealth()
  await health.look(models)
  return [...health.findings()].flatMap(([title, found]) =>
    found.map(({ origin, message }) => {
      const field = origin.kind === 'object' ? origin.field : ''
      return `${title} ${field}: ${message}`
    }),
  )
}

const required = (...matchExpressions: readonly string[]) => ({
  authorization: { action: 'Require', policy: { matchExpressions } },
})

describe('the health of rules', () => {
  it('two Require rules that exclude each other deny everything', async () => {
    const field = 'spec.traffic.authorization.policy.matchExpressions[1]'
    assert.deepEqual(await findingsOf(required("request.path == '/a'", 'request.path == "/b"')), [
      `ProxyPolicy shop/p0 ${field}: \`request.path == '/a'\` is required as well, and the two are never true together: everything is denied`,
    ])
  })

  it('so do those of two policies with the same target', async () => {
    const found = await findingsOf(required("jwt.sub == 'a'"), required("jwt.sub == 'b'"))
    assert.ok(
      found.some(
        (one) => one.startsWith('ProxyPolicy shop/p1 ') && /never true together/.test(one),
      ),
    )
  })

  it('others do not', async () => {
    const found = await findingsOf(
      required("request.path == '/a'", "request.path == '/a'", "request.method == 'GET'"),
      required("source.address == '::1'", "source.address == '0:0:0:0:0:0:0:1'"),
      {
        authorization: { action: 'Allow', policy: { matchExpressions: ["request.path == '/b'"] } },
      },
      {
        authorization: {
          action: 'Require',
          mode: 'Audit',
          policy: { matchExpressions: ["request.path == '/c'"] },
        },
      },
    )
    assert.deepEqual(found, [])
  })

  it('an empty key set rejects all tokens', async () => {
    const jwt = (inline: string) => ({
      jwtAuthentication: { providers: [{ issuer: 'https://a.example', jwks: { inline } }] },
    })
    assert.deepEqual(await findingsOf(jwt('{"keys":[]}')), [
      'ProxyPolicy shop/p0 spec.traffic.jwtAuthentication: all tokens from `https://a.example` are rejected: its key set is empty',
    ])
    const key =
      '{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}'
    assert.deepEqual(await findingsOf(jwt(key)), [])
  })
})
