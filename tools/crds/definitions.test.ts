import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { POLICY_SCHEMAS } from '../../src/policies/schema.ts'
import { definitions } from './definitions.ts'
import { BACKEND, FRONTEND, TRAFFIC } from './policies.ts'
import { ELSEWHERE } from './policy-shapes.ts'
import { exactlyOne, type Structural } from './structural.ts'

const files = definitions.generate('')
const specOf = new Map(
  [...files.values()].map((text) => {
    const { spec } = parse(text)
    return [
      spec.names.kind as string,
      spec.versions[0].schema.openAPIV3Schema.properties.spec as Structural,
    ]
  }),
)

/** Returns the field at a path such as `traffic.providers[].issuer`. */
function fieldAt(kind: string, path: string): Structural | undefined {
  return path.split('.').reduce<Structural | undefined>((part, name) => {
    const member = part?.properties?.[name.replace('[]', '')]
    return name.endsWith('[]') ? member?.items : member
  }, specOf.get(kind))
}

describe('definitions', () => {
  for (const [path, text] of files) {
    it(`${path} fits into the annotation of client-side apply`, () => {
      assert.ok(Buffer.byteLength(JSON.stringify(parse(text))) < 256 * 1024)
    })
  }

  it('a kind that accepts the same policies in many places leaves room for more', () => {
    const [, text = ''] = [...files].find(([path]) => path.includes('proxybackends')) ?? []
    assert.ok(Buffer.byteLength(JSON.stringify(parse(text))) < 208 * 1024)
  })

  it('every part has a type, and only sizes may have several types', () => {
    for (const [kind, spec] of specOf) visit(spec, kind)

    function visit(part: Structural, path: string): void {
      const isSize = part['x-kubernetes-int-or-string'] === true
      const isOpen = part['x-kubernetes-preserve-unknown-fields'] === true
      assert.ok(isSize || isOpen || typeof part.type === 'string', path)
      assert.ok(isSize || part['anyOf'] === undefined, path)
      for (const [name, member] of Object.entries(part.properties ?? {}))
        visit(member, `${path}.${name}`)
      if (part.items !== undefined) visit(part.items, `${path}[]`)
      if (part.additionalProperties !== undefined) visit(part.additionalProperties, `${path}{}`)
    }
  })

  it('every list has a max length: the cost of rules is estimated for the longest list', () => {
    for (const [kind, spec] of specOf) visit(spec, kind)

    function visit(part: Structural, path: string): void {
      if (part.type === 'array') assert.ok(Number(part['maxItems']) > 0, path)
      for (const [name, member] of Object.entries(part.properties ?? {}))
        visit(member, `${path}.${name}`)
      if (part.items !== undefined) visit(part.items, `${path}[]`)
    }
  })
})

describe('fields of the specification', () => {
  for (const [kind, path] of [
    ['ProxyPolicy', 'traffic.authorization'],
    ['ProxyPolicy', 'frontend.networkAuthorization'],
    ['ProxyPolicy', 'backend.authorization'],
    ['ProxyPolicy', 'backend.mcp.authorization'],
    ['ProxyBackend', 'policies.authorization'],
    ['ProxyBackend', 'ai.groups[].providers[].policies.authorization'],
  ] as const) {
    it(`${kind} spec.${path} is an authorization block`, () => {
      const block = fieldAt(kind, path)
      assert.deepEqual(block?.required, ['action', 'policy'])
      assert.deepEqual(block?.properties?.['action']?.['enum'], ['Allow', 'Require', 'Deny'])
      const expressions = block?.properties?.['policy']?.properties?.['matchExpressions']
      assert.deepEqual(
        [expressions?.type, expressions?.['minItems'], expressions?.items?.type],
        ['array', 1, 'string'],
      )
      assert.deepEqual(block?.properties?.['policy']?.required, ['matchExpressions'])
    })
  }

  for (const path of ['group', 'kind', 'name']) {
    it(`ProxyPolicy spec.targetRefs[].${path}`, () => {
      assert.equal(fieldAt('ProxyPolicy', `targetRefs[].${path}`)?.type, 'string')
    })
  }

  it('ProxyPolicy spec.traffic.jwtAuthentication', () => {
    const at = (path: string) => fieldAt('ProxyPolicy', `traffic.jwtAuthentication.${path}`)
    assert.deepEqual(at('mode')?.['enum'], ['Strict', 'Optional', 'Permissive'])
    assert.equal(at('providers[].issuer')?.type, 'string')
    assert.equal(at('providers[].jwks.inline')?.type, 'string')
  })

  for (const section of ['traffic', 'backend']) {
    it(`ProxyPolicy spec.${section}.headerModifiers has computed headers of responses alone`, () => {
      const at = (part: string) =>
        fieldAt('ProxyPolicy', `${section}.headerModifiers.${part}.compute`)
      assert.equal(at('response')?.type, 'object')
      assert.equal(at('request'), undefined)
    })
  }

  it('ProxyParameters spec.istio.enabled', () => {
    assert.equal(fieldAt('ProxyParameters', 'istio.enabled')?.type, 'boolean')
  })
})

describe('policies in Kubernetes', () => {
  const NAMES: Readonly<Record<string, string>> = {
    frontendTcp: 'tcp',
    frontendTls: 'tls',
    frontendHttp: 'http',
    timeout: 'timeouts',
    basicAuth: 'basicAuthentication',
    apiKey: 'apiKeyAuthentication',
    extAuthz: 'extAuth',
    localRateLimit: 'rateLimit',
    remoteRateLimit: 'rateLimit',
    outlierDetection: 'health',
    backendTLS: 'tls',
    backendAuth: 'auth',
    transformations: 'transformation',
  }
  const SECTIONS = { frontend: FRONTEND, traffic: TRAFFIC, backend: BACKEND } as const

  for (const { kind, sections } of POLICY_SCHEMAS.filter(
    (policy) => !ELSEWHERE.includes(policy.kind),
  )) {
    it(`${kind} stands where a file has it`, () => {
      for (const section of Object.keys(sections) as (keyof typeof SECTIONS)[]) {
        assert.ok((NAMES[kind] ?? kind) in SECTIONS[section], section)
      }
    })
  }
})

it('a rule that requires exactly one of several fields', () => {
  assert.deepEqual(exactlyOne(['a', 'b']), {
    rule: '[has(self.a), has(self.b)].filter(isSet, isSet).size() == 1',
    message: 'exactly one of a, b must be set',
  })
})
