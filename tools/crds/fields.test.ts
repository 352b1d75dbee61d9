import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as z from 'zod'
import type { Section } from '../../src/model/policy.ts'
import { constraintOf, POLICY_SCHEMAS } from '../../src/policies/schema.ts'
import { backendSchema } from '../../src/sources/file/sections/backends.ts'
import { BACKEND, FRONTEND, MCP, TRAFFIC } from './policies.ts'
import { proxyBackend } from './proxy-backend.ts'
import { object, type Structural } from './structural.ts'

/** Section → kind in a file → its path in a ProxyPolicy, if it differs from its name. */
const NAMES: Readonly<Record<Section, Readonly<Record<string, string>>>> = {
  frontend: { frontendTcp: 'tcp', frontendTls: 'tls', frontendHttp: 'http' },
  traffic: {
    timeout: 'timeouts',
    basicAuth: 'basicAuthentication',
    apiKey: 'apiKeyAuthentication',
    extAuthz: 'extAuth',
    localRateLimit: 'rateLimit.local',
    remoteRateLimit: 'rateLimit.global',
    transformations: 'transformation',
    requestHeaders: 'headerModifiers.request',
    responseHeaders: 'headerModifiers.response',
  },
  backend: {
    backendAuth: 'auth',
    extAuthz: 'extAuth',
    transformations: 'transformation',
    requestHeaders: 'headerModifiers.request',
    responseHeaders: 'headerModifiers.response',
    mcpAuthorization: 'mcp.authorization',
    outlierDetection: 'health',
    backendTLS: 'tls',
  },
}

/** Kinds that ProxyPolicies do not support, and their replacements. */
const NO_POLICY: Readonly<Record<string, string>> = {
  urlRewrite: 'the filter URLRewrite of a route',
  requestRedirect: 'the filter RequestRedirect of a route',
  requestMirror: 'the filter RequestMirror of a route',
  inferenceRouting: 'the endpoint picker of an InferencePool',
}

const REFERENCE = 'a backendRef is in its place'
const SECRET = 'a reference to a Secret is in its place'
const OBJECT = 'a reference to a Secret or ConfigMap is in its place, and `file` is for files'
const BLOCK = 'the block of the specification says the same'
const SPELLING = 'another spelling of a word that is there'
const LIST = 'the list `providers` says the same'
const UNCONDITIONAL = 'conditional is for `traffic`, where routes have it'

/** Policy fields that are intentionally only in files, including everything below them. */
const POLICY_FIELDS: Readonly<Record<string, string>> = {
  'networkAuthorization.rules': BLOCK,
  'authorization.rules': BLOCK,
  'mcpAuthorization.rules': BLOCK,
  'connect.mode=route': 'rejected in files, too',
  'tracing.headers': 'a ProxyPolicy has no secrets in it, and these are credentials as a rule',
  'accessLog.otlp.headers':
    'a ProxyPolicy has no secrets in it, and these are credentials as a rule',
  'accessLog.otlp.host': REFERENCE,
  'accessLog.otlp.service': REFERENCE,
  'accessLog.otlp.backend': REFERENCE,
  'extProc.conditional.host': REFERENCE,
  'extProc.conditional.service': REFERENCE,
  'extProc.conditional.backend': REFERENCE,
  'extProc.host': REFERENCE,
  'extProc.service': REFERENCE,
  'extProc.backend': REFERENCE,
  'tracing.host': REFERENCE,
  'tracing.service': REFERENCE,
  'tracing.backend': REFERENCE,
  'jwtAuthentication.providers.jwks.file': 'inline or remote',
  'jwtAuthentication.providers.jwks.url': '`remote.url`',
  'jwtAuthentication.providers.jwks.cacheDuration': '`remote.cacheDuration`',
  'jwtAuthentication.issuer': LIST,
  'jwtAuthentication.jwks': LIST,
  'jwtAuthentication.audiences': LIST,
  'jwtAuthentication.jwtValidationOptions': LIST,
  'jwtAuthentication.leeway': LIST,
  'jwtAuthentication.clientSecret': SECRET,
  'jwtAuthentication.provider.auth0': 'the word for it is enough',
  'jwtAuthentication.provider.keycloak': 'the word for it is enough',
  'jwtAuthentication.provider.okta': 'the word for it is enough',
  'jwtAuthentication.provider.descope': 'the word for it is enough',
  'jwtAuthentication.provider.authentik': 'the word for it is enough',
  'jwtAuthentication.provider.entra': 'the word for it is enough',
  'basicAuth.htpasswd': SECRET,
  'apiKey.keys': SECRET,
  'authentication.anyOf.jwtAuthentication': 'as jwtAuthentication',
  'authentication.anyOf.apiKey': 'called apiKeyAuthentication',
  'authentication.anyOf.basicAuth': 'called basicAuthentication',
  'oidc.clientSecret': SECRET,
  'oidc.cookieSecret': SECRET,
  'extAuthz.host': REFERENCE,
  'extAuthz.service': REFERENCE,
  'extAuthz.backend': REFERENCE,
  'extAuthz.failureMode.denyWithStatus': 'one type for each field: Deny responds with 403',
  'extAuthz.conditional': UNCONDITIONAL,
  'localRateLimit.maxTokens': 'the form of another gateway',
  'localRateLimit.tokensPerFill': 'the form of another gateway',
  'localRateLimit.fillInterval': 'the form of another gateway',
  'localRateLimit.type': 'the form of another gateway',
  'localRateLimit.conditional': '`rateLimit.conditional`',
  'remoteRateLimit.host': REFERENCE,
  'remoteRateLimit.service': REFERENCE,
  'remoteRateLimit.backend': REFERENCE,
  'remoteRateLimit.failureMode': SPELLING,
  'remoteRateLimit.conditional': 'descriptors with expressions say when they count',
  'backendAuth.key': SECRET,
  'backendAuth.aws': SECRET,
  'backendAuth.azure': 'the identity of the proxy is for whoever runs its pod, not for a namespace',
  'backendAuth.jwtSign': 'its key is a file of the proxy',
  'backendAuth.credentials': 'other secrets than `key` are files of the proxy',
  'backendAuth.oauthUserToken': 'its pages belong to the gateway, not to a namespace',
  'a2a.verify.jwks.file': 'inline or remote',
  'a2a.verify.jwks.url': '`remote.url`',
  'a2a.verify.jwks.cacheDuration': '`remote.cacheDuration`',
  'a2a.sign.key': SECRET,
  'backendAuth.oauthTokenExchange.clientSecret': SECRET,
  'guardrails.request.webhook.target': REFERENCE,
  'guardrails.response.webhook.target': REFERENCE,
  'guardrails.request.webhook.failureMode': SPELLING,
  'guardrails.request.openAIModeration': SECRET,
  'guardrails.response.openAIModeration': SECRET,
  'guardrails.request.azureContentSafety': SECRET,
  'guardrails.response.azureContentSafety': SECRET,
  'guardrails.request.bedrockGuardrails': SECRET,
  'guardrails.response.bedrockGuardrails': SECRET,
  'guardrails.response.webhook.failureMode': SPELLING,
  'backendTLS.root': OBJECT,
  'backendTLS.cert': OBJECT,
  'backendTLS.key': OBJECT,
  'http.version': SPELLING,
}

/** The same for backends: the path in a file, and why it is missing in a ProxyBackend. */
const BACKEND_FIELDS: Readonly<Record<string, string>> = {
  name: 'that of the object',
  hosts: 'a Service has several endpoints, and a route several backends',
  service: 'routes name Services themselves',
  'mcp.targets.stdio': 'programs of the proxy are for whoever runs its pod, not for a namespace',
  'mcp.targets.openapi.schema.file': OBJECT,
  'mcp.targets.pins.file': OBJECT,
}

/** The path of a backend field in a file → its path in a ProxyBackend. */
const BACKEND_PATHS: readonly (readonly [RegExp, string])[] = [
  [/^host$/, 'static.host'],
  [/^dynamic/, 'dynamicForwardProxy'],
  [/^mcp\.statefulMode/, 'mcp.sessionRouting'],
  [/^mcp\.targets\.(mcp|sse|openapi)\.backend$/, 'mcp.targets.static.backendRef'],
  [/^mcp\.targets\.(mcp|sse|policies)/, 'mcp.targets.static'],
  // A single provider is set below `provider`, like the providers of groups.
  [/^ai\.(?!groups|allowEndpoints)/, 'ai.provider.'],
]

const SECTIONS: Readonly<Record<Section, Structural>> = {
  frontend: object('', FRONTEND),
  traffic: object('', TRAFFIC),
  backend: object('', { ...BACKEND, mcp: MCP }),
}

describe('a ProxyPolicy supports all policies of a file', () => {
  const used = new Set<string>()
  for (const { kind, schema, sections } of POLICY_SCHEMAS) {
    for (const section of Object.keys(sections) as Section[]) {
      if (NO_POLICY[kind] !== undefined) continue
      it(`${section}: ${kind}`, () => {
        const at = NAMES[section][kind] ?? kind
        const own = partAt(SECTIONS[section], at)
        assert.ok(own !== undefined, `${section}.${at} is not defined`)
        const known = fieldsOfDefinition(own)
        const absent = [...fieldsOfFile(schema)].filter((field) => !known.has(field))
        const unexplained = absent.filter((field) => {
          const entry = entryFor(POLICY_FIELDS, `${kind}.${field}`)
          if (entry !== undefined) used.add(entry)
          return entry === undefined
        })
        assert.deepEqual(unexplained, [])
      })
    }
  }

  it('has no reasons for fields that are not missing', () => {
    assert.deepEqual(
      Object.keys(POLICY_FIELDS).filter((field) => !used.has(field)),
      [],
    )
  })
})

describe('a ProxyBackend supports all backends of a file', () => {
  const known = fieldsOfDefinition(proxyBackend.spec)
  const inFile = [...fieldsOfFile(backendSchema)].filter((field) => !field.includes('policies.'))
  const absent = inFile.filter((field) => {
    const [from, to] = BACKEND_PATHS.find(([pattern]) => pattern.test(field)) ?? []
    return !known.has(from === undefined ? field : field.replace(from, to as string))
  })

  it('has a reason for every missing field', () => {
    const unexplained = absent.filter((field) => entryFor(BACKEND_FIELDS, field) === undefined)
    assert.deepEqual(unexplained, [])
  })

  it('has no reasons for backend fields that are not missing', () => {
    const used = new Set(absent.map((field) => entryFor(BACKEND_FIELDS, field)))
    assert.deepEqual(
      Object.keys(BACKEND_FIELDS).filter((field) => !used.has(field)),
      [],
    )
  })
})

/** The entry that equals the path or is a prefix of it. */
function entryFor(entries: Readonly<Record<string, string>>, path: string): string | undefined {
  return Object.keys(entries).find((entry) => {
    return path === entry || path.startsWith(`${entry}.`) || path.startsWith(`${entry}=`)
  })
}

function partAt(part: Structural | undefined, path: string): Structural | undefined {
  return path.split('.').reduce((own, name) => own?.properties?.[name], part)
}

type Json = Readonly<Record<string, unknown>>

/**
 * The paths of all fields of all forms, without list indices and map keys; for an enum also each
 * of its words: `mode=strict`. Independent of how definitions are generated from the schemas.
 */
function fieldsOfFile(schema: z.ZodType): ReadonlySet<string> {
  const whole = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { aliases = {} } = constraintOf(zodSchema) ?? {}
      for (const alias of Object.keys(aliases)) delete jsonSchema.properties?.[alias]
    },
  }) as Json
  const found = new Set<string>()
  visit(whole, '', [])
  return found

  function visit(part: Json, path: string, above: readonly string[]): void {
    const ref = part['$ref']
    if (typeof ref === 'string') {
      const name = ref.replace('#/$defs/', '')
      const inner = (whole['$defs'] as Record<string, Json> | undefined)?.[name]
      if (inner !== undefined && !above.includes(name)) visit(inner, path, [...above, name])
    }
    for (const option of (part['anyOf'] ?? part['oneOf'] ?? []) as readonly Json[]) {
      visit(option, path, above)
    }
    if (typeof part['items'] === 'object') visit(part['items'] as Json, path, above)
    const { additionalProperties: named } = part
    if (typeof named === 'object' && named !== null) visit(named as Json, path, above)
    addWords(found, path, part['enum'] ?? (part['const'] === undefined ? [] : [part['const']]))
    for (const [name, member] of Object.entries((part['properties'] ?? {}) as Json)) {
      const at = path === '' ? name : `${path}.${name}`
      found.add(at)
      visit(member as Json, at, above)
    }
  }
}

function fieldsOfDefinition(whole: Structural): ReadonlySet<string> {
  const found = new Set<string>()
  visit(whole, '')
  return found

  function visit(part: Structural, path: string): void {
    if (part.items !== undefined) visit(part.items, path)
    if (part.additionalProperties !== undefined) visit(part.additionalProperties, path)
    addWords(found, path, part['enum'] ?? [])
    for (const [name, member] of Object.entries(part.properties ?? {})) {
      const at = path === '' ? name : `${path}.${name}`
      found.add(at)
      visit(member, at)
    }
  }
}

function addWords(found: Set<string>, path: string, words: unknown): void {
  for (const word of words as readonly unknown[]) {
    if (path !== '') found.add(`${path}=${String(word).toLowerCase()}`)
  }
}
