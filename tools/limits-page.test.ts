import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as z from 'zod'
import { policySchema } from '../src/policies/schema.ts'
import { planPorts } from '../src/proxy/port-plan.ts'
import { fileJsonSchema, type JsonSchema } from '../src/sources/file/json-schema.ts'
import { frontendPolicy, httpListener, programOf } from '../test/proxy/accepting.ts'
import { defaultOf, limitsPage, NO_LIMITS, SETTINGS } from './limits-page.ts'

const schema = fileJsonSchema()
const page = limitsPage.generate('').get('docs/reference/limits.md') ?? ''

describe('the page of limits', () => {
  it('has every key of frontendHttp that is a limit', () => {
    const part = schema.$defs?.['frontendHttp'] as JsonSchema
    const reported = SETTINGS.filter(({ of }) => of === 'frontendHttp').map(({ key }) => key)
    const keys = Object.keys(part.properties ?? {})
    assert.deepEqual(
      keys.filter((key) => !reported.includes(key) && !NO_LIMITS.includes(key)),
      [],
    )
  })

  it('has every key of config.limits', () => {
    const config = schema.properties?.['config'] as JsonSchema
    const limits = config.properties?.['limits'] as JsonSchema
    for (const key of Object.keys(limits.properties ?? {}))
      assert.ok(
        SETTINGS.some((own) => own.key === `limits.${key}`),
        key,
      )
  })

  for (const own of SETTINGS) {
    it(`${own.of}.${own.key} is told with the default of the schema`, () => {
      const row =
        page.split('\n').find((line) => line.startsWith('|') && line.includes(`${own.key}\``)) ?? ''
      assert.ok(row.includes(`| ${defaultOf(schema, own) ?? own.otherwise} |`), row)
    })
  }
})

describe('the limit that applies by default', () => {
  const planOf = (...kinds: readonly string[]) => {
    const frontend = kinds.map((kind) =>
      frontendPolicy(kind, z.parse(policySchema(kind), VALUES[kind])),
    )
    const listener = httpListener(1, { port: 1 }, {}, { frontend })
    const plan = planPorts(programOf([listener]), () => 'none', true).get(1)
    return {
      http: plan?.http,
      http2: plan?.http2,
      maxBody: plan?.maxBody,
      longest: plan?.longest,
      tls: plan?.tls.handshakeTimeout,
      keepalive: [plan?.keepalive.enabled, plan?.keepalive.time],
    }
  }
  const VALUES: Readonly<Record<string, unknown>> = {
    frontendHttp: {},
    frontendTls: {},
    frontendTcp: { keepalives: {} },
  }

  for (const kind of Object.keys(VALUES)) {
    it(`is what ${kind} says by default`, () => assert.deepEqual(planOf(), planOf(kind)))
  }
})
