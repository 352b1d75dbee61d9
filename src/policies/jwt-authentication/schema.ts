import * as z from 'zod'
import type { Material } from '../../model/material.ts'
import { credentialLocation } from '../credential-location.ts'
import { file } from '../materials.ts'
import { choice, duration, url } from '../scalars.ts'
import { aliased, issue, oneOfKeys } from '../shapes.ts'
import { readKeySet } from './key-set.ts'

export type KeySet =
  | { readonly kind: 'local'; readonly keys: Material }
  | { readonly kind: 'remote'; readonly url: string; readonly cacheDuration: number }

const HINT = 'write {"keys": [{"kty": "RSA", "kid": "…", "n": "…", "e": "AQAB"}]}'

const keyText = () =>
  z
    .string()
    .max(1_048_576)
    .meta({ title: 'JSON Web Key Set' })
    .check(({ value, issues }) => {
      const problem = keySetProblem(value)
      if (problem !== undefined) {
        const message = `this is not a JSON Web Key Set: ${problem}`
        issues.push(issue(value, message, { rule: 'malformed', hint: HINT }))
      }
    })

/** Tokens would all be refused, and nobody could tell why. */
const keyFile = () =>
  file((text) => {
    const problem = keySetProblem(text)
    const message = `the file is not a JSON Web Key Set: ${problem}`
    return problem === undefined ? undefined : { message, hint: `${HINT} in it` }
  })

/** Only the outline: each key is judged when it is imported. */
function keySetProblem(text: string): string | undefined {
  const written = readKeySet(text)
  if (typeof written === 'string') return written
  const isKey = (key: unknown) => typeof (key as { kty?: unknown } | null)?.kty === 'string'
  return written.every(isKey) ? undefined : 'a key of it has no `kty`'
}

const keys = z
  .union([
    keyText(),
    oneOfKeys(
      z.strictObject({
        inline: keyText().optional().describe('The key set as JSON text.'),
        file: keyFile().optional().describe('The path of a file with the key set.'),
        url: url().optional().describe('Where to fetch the key set.'),
        cacheDuration: duration()
          .prefault('15m')
          .describe('How long a fetched key set is fresh. With `url`.'),
      }),
      ['inline', 'file', 'url'],
    ),
  ])
  .transform((value): KeySet => {
    if (typeof value === 'string') return { kind: 'local', keys: { text: value } }
    const { inline, file, url, cacheDuration } = value
    if (inline !== undefined) return { kind: 'local', keys: { text: inline } }
    if (file !== undefined) return { kind: 'local', keys: file }
    return { kind: 'remote', url: url as string, cacheDuration }
  })
  .meta({ id: 'key-set' })

const keySet = () => keys.describe('The keys: `inline`, `file`, `url`, or the JSON text itself.')

const issuer = () => z.string().min(1).max(2048).describe('The `iss` that tokens must carry.')

const audiences = () =>
  z
    .array(z.string().min(1).max(2048))
    .max(64)
    .describe('One of these must be in `aud`; none: any audience.')

const validation = () =>
  z
    .strictObject({
      requiredClaims: z
        .array(z.string().min(1).max(256))
        .max(64)
        .prefault([])
        .describe('Claims that must be there. `exp` and `iss` always must.'),
    })
    .describe('What else a token must have.')

const leeway = () => duration().describe('How far clocks may differ; not at all by default.')

const provider = z.strictObject({
  issuer: issuer(),
  jwks: keySet(),
  audiences: audiences().optional(),
  jwtValidationOptions: validation().optional(),
  leeway: leeway().optional(),
})

const metadataText = () => z.string().min(1).max(2048).optional()
const metadataList = () => z.array(z.string().min(1).max(2048)).max(64).optional()

/** Members of RFC 9728, in its own spelling or in that of the rest of the file. */
const resourceMetadata = aliased(
  {
    resource: metadataText().describe('The URL of the resource; by default, as clients reach it.'),
    authorizationServers: metadataList().describe('By default, the issuers.'),
    scopesSupported: metadataList().describe('Scopes that clients may need.'),
    bearerMethodsSupported: metadataList().describe('By default, `header`.'),
    resourceName: metadataText().describe('A name for people.'),
    resourceDocumentation: metadataText().describe('The URL of a page for developers.'),
    resourcePolicyUri: metadataText().describe('The URL of a page about the use of data.'),
    resourceTosUri: metadataText().describe('The URL of the terms of service.'),
  },
  {
    authorization_servers: 'authorizationServers',
    scopes_supported: 'scopesSupported',
    bearer_methods_supported: 'bearerMethodsSupported',
    resource_name: 'resourceName',
    resource_documentation: 'resourceDocumentation',
    resource_policy_uri: 'resourcePolicyUri',
    resource_tos_uri: 'resourceTosUri',
  },
)

export type ResourceMetadata = z.output<typeof resourceMetadata>

/** Where an issuer usually publishes its keys. */
function keysOf(issuer: string | undefined): KeySet | undefined {
  if (issuer === undefined || !/^https?:\/\//.test(issuer)) return undefined
  const at = `${issuer.replace(/\/$/, '')}/.well-known/jwks.json`
  return { kind: 'remote', url: at, cacheDuration: 15 * 60_000 }
}

export const jwtAuthentication = z
  .strictObject({
    mode: choice('Strict', 'Optional', 'Permissive')
      .prefault('Strict')
      .describe(
        'Strict: a valid token or 401. Optional: none is fine, a bad one is 401. Permissive: a ' +
          'bad one is ignored.',
      ),
    location: credentialLocation('Bearer '),
    forward: z
      .boolean()
      .prefault(false)
      .describe('Whether the backend gets the token too; else it is removed.'),
    providers: z
      .array(provider)
      .min(1)
      .max(64)
      .optional()
      .describe('The accepted issuers; the issuer of a token picks the entry.'),
    // One provider may be written without the list.
    issuer: issuer().optional(),
    jwks: keySet().optional(),
    audiences: audiences().optional(),
    jwtValidationOptions: validation().optional(),
    leeway: leeway().optional(),
    resourceMetadata: resourceMetadata
      .optional()
      .describe(
        'Makes the gateway a resource server of OAuth (RFC 9728), as MCP clients expect: it serves ' +
          'this metadata at `/.well-known/oauth-protected-resource`, and a 401 says where. ' +
          '`resource` and `authorization_servers` have defaults; `audiences` is required.',
      ),
  })
  .check(({ value, issues }) => {
    const { providers, issuer, resourceMetadata: metadata } = value
    const jwks = value.jwks ?? (metadata === undefined ? undefined : keysOf(issuer))
    const all = providers ?? [value]
    if (metadata !== undefined && !all.every((own) => (own.audiences ?? []).length > 0)) {
      const hint = 'name the resource as tokens for it do, so that tokens for others are rejected'
      const said = { rule: 'missing', hint } as const
      issues.push(issue(value, '`audiences` is missing', said, ['resourceMetadata']))
    }
    if (providers !== undefined) {
      const other = ONE_PROVIDER.find((key) => value[key] !== undefined)
      if (other === undefined) return
      const message = `\`providers\` and \`${other}\` exclude each other`
      const hint = `move \`${other}\` into an entry of \`providers\``
      issues.push(issue(value, message, { rule: 'excludes', hint }, [other]))
    } else if (issuer === undefined || jwks === undefined) {
      const hint = 'list `providers`, each with `issuer` and `jwks`'
      const missing = issuer === jwks ? '`providers`' : issuer === undefined ? '`issuer`' : '`jwks`'
      issues.push(issue(value, `${missing} is missing`, { rule: 'missing', hint }))
    }
  })
  .transform((value) => {
    const {
      mode,
      location,
      forward,
      providers,
      issuer,
      resourceMetadata: metadata,
      ...rest
    } = value
    const jwks = value.jwks ?? keysOf(issuer)
    const only = { ...rest, issuer: issuer as string, jwks: jwks as KeySet }
    return {
      mode,
      location,
      forward,
      providers: (providers ?? [only]).map(toProvider),
      ...(metadata === undefined ? {} : { resourceMetadata: metadata }),
    }
  })
  .describe('Verifies JSON Web Tokens; the claims are `jwt` in expressions.')

const ONE_PROVIDER = ['issuer', 'jwks', 'audiences', 'jwtValidationOptions', 'leeway'] as const

export type JwtAuthentication = z.output<typeof jwtAuthentication>

function toProvider({
  issuer,
  jwks,
  audiences = [],
  jwtValidationOptions,
  leeway = 0,
}: z.output<typeof provider>) {
  const requiredClaims = jwtValidationOptions?.requiredClaims ?? []
  return { issuer, jwks, audiences, requiredClaims, leeway }
}
