import * as z from 'zod'
import { credentialLocation } from '../credential-location.ts'
import { type KeySet, keySet } from '../key-sets.ts'
import { secret } from '../materials.ts'
import { choice, duration } from '../scalars.ts'
import { aliased, issue, oneOfKeys } from '../shapes.ts'
import {
  ADAPTATIONS,
  bodyPaths,
  IDENTITY_PROVIDERS,
  type IdentityProvider,
  serverAt,
  withoutSlash,
} from './identity-providers.ts'

/** The end of the year 9999; later dates in tokens are milliseconds by mistake. */
export const LAST_DATE = 253_402_300_799

const issuer = () => z.string().min(1).max(2048).describe('The required `iss` of tokens.')

const audiences = () =>
  z
    .array(z.string().min(1).max(2048))
    .max(64)
    .describe('Accepted audiences: one of them must be in `aud`. Default: any.')

const validation = () =>
  z
    .strictObject({
      requiredClaims: z
        .array(z.string().min(1).max(256))
        .max(64)
        .prefault([])
        .describe('Claims that tokens must contain. `exp` and `iss` are always required.'),
      types: z
        .array(z.string().min(1).max(128))
        .min(1)
        .max(16)
        .optional()
        .describe(
          'The accepted `typ` headers, such as `at+jwt`; tokens without one are then rejected. Default: `JWT`, `at+jwt`, `JOSE`, or none, so that tokens for other uses, such as `logout+jwt` or `secevent+jwt`, are rejected.',
        ),
    })
    .describe('Additional validation of tokens.')

const leeway = () => duration().describe('The tolerated clock skew. Default: none.')

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
    resource: metadataText().describe(
      'The URL of the resource. Defaults to the URL that clients use.',
    ),
    authorizationServers: metadataList().describe(
      'The authorization servers. Defaults to the issuers.',
    ),
    scopesSupported: metadataList().describe('Scopes that clients can request.'),
    bearerMethodsSupported: metadataList().describe(
      'How clients can send tokens. Default: `header`.',
    ),
    resourceName: metadataText().describe('A human-readable name.'),
    resourceDocumentation: metadataText().describe('The URL of the developer documentation.'),
    resourcePolicyUri: metadataText().describe('The URL of the data usage policy.'),
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

/** `auth0: {}`, the syntax of other gateways. */
const providerObject = oneOfKeys(
  z.strictObject(
    Object.fromEntries(
      IDENTITY_PROVIDERS.map((name) => [
        name.toLowerCase(),
        z.strictObject({}).optional().describe(`An alias of \`${name}\`.`),
      ]),
    ),
  ),
  IDENTITY_PROVIDERS.map((name) => name.toLowerCase()),
).transform((value): IdentityProvider => {
  const own = value as Readonly<Record<string, unknown>>
  return IDENTITY_PROVIDERS.find(
    (name) => own[name.toLowerCase()] !== undefined,
  ) as IdentityProvider
})

const identityProvider = () => z.union([choice(...IDENTITY_PROVIDERS), providerObject])

/** The URL where an issuer usually publishes its keys. */
function keysOf(issuer: string | undefined, provider?: IdentityProvider): KeySet | undefined {
  if (issuer === undefined || !/^https?:\/\//.test(issuer)) return undefined
  const own = withoutSlash(issuer)
  const at =
    provider === undefined ? `${own}/.well-known/jwks.json` : ADAPTATIONS[provider].keys(own)
  return { kind: 'remote', url: at, cacheDuration: 15 * 60_000 }
}

export const jwtAuthentication = z
  .strictObject({
    mode: choice('Strict', 'Optional', 'Permissive')
      .prefault('Strict')
      .describe(
        'Strict: requests without a valid token get 401. Optional: a token is not required, but an invalid one gets 401. Permissive: ' +
          'invalid tokens are ignored.',
      ),
    location: credentialLocation('Bearer '),
    forward: z
      .boolean()
      .prefault(false)
      .describe('Whether to forward the token to the backend. By default, it is removed.'),
    providers: z
      .array(provider)
      .min(1)
      .max(64)
      .optional()
      .describe('The accepted issuers. The issuer of a token selects the entry.'),
    // A single provider may be written without the list.
    issuer: issuer().optional(),
    jwks: keySet().optional(),
    audiences: audiences().optional(),
    jwtValidationOptions: validation().optional(),
    leeway: leeway().optional(),
    resourceMetadata: resourceMetadata
      .optional()
      .describe(
        'Makes the gateway an OAuth resource server (RFC 9728), as MCP clients expect: it serves ' +
          'this metadata at `/.well-known/oauth-protected-resource`, and 401 responses point to it. ' +
          '`resource` and `authorization_servers` have defaults; `audiences` is required.',
      ),
    provider: identityProvider()
      .optional()
      .describe(
        'The type of identity provider, for providers that MCP clients cannot use directly. The gateway ' +
          'serves its metadata and registration, and for Entra also the authorization and token endpoints, at ' +
          '`/.well-known/oauth-authorization-server`. Requires `resourceMetadata` and a single issuer.',
      ),
    clientId: z
      .string()
      .min(1)
      .max(1024)
      .optional()
      .describe(
        'The client ID that every MCP client gets, instead of dynamic registration. Requires `provider`.',
      ),
    clientSecret: secret()
      .optional()
      .describe(
        'The secret of that client, which the gateway adds to token requests: a string or ' +
          '`{file}`. For Entra.',
      ),
  })
  .check(({ value, issues }) => {
    const { providers, issuer, resourceMetadata: metadata, provider: adapted } = value
    const jwks = value.jwks ?? (metadata === undefined ? undefined : keysOf(issuer, adapted))
    const all = providers ?? [value]
    const wrong = adaptationProblem(
      value,
      all.map((own) => own.issuer),
    )
    if (wrong !== undefined) {
      issues.push(issue(value, wrong.message, { rule: 'missing', hint: wrong.hint }, [wrong.key]))
    }
    if (metadata !== undefined && !all.every((own) => (own.audiences ?? []).length > 0)) {
      const hint =
        'name this resource as in the `aud` of its tokens, so that tokens for other resources are rejected'
      const said = { rule: 'missing', hint } as const
      issues.push(issue(value, '`audiences` is missing', said, ['resourceMetadata']))
    }
    if (providers !== undefined) {
      const other = ONE_PROVIDER.find((key) => value[key] !== undefined)
      if (other === undefined) return
      const message = `\`providers\` and \`${other}\` are mutually exclusive`
      const hint = `move \`${other}\` into an entry of \`providers\``
      issues.push(issue(value, message, { rule: 'excludes', hint }, [other]))
    } else if (issuer === undefined || jwks === undefined) {
      const hint = 'set `providers`, each with `issuer` and `jwks`'
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
      provider: adapted,
      clientId,
      clientSecret,
      ...rest
    } = value
    const jwks = value.jwks ?? keysOf(issuer, adapted)
    const only = { ...rest, issuer: issuer as string, jwks: jwks as KeySet }
    const all = (providers ?? [only]).map(toProvider)
    const [
      {
        issuer: first,
        audiences: [audience = ''],
      } = NO_PROVIDER,
    ] = all
    const server = adapted && serverAt(adapted, first, audience)
    return {
      mode,
      location,
      forward,
      providers: all,
      ...(metadata === undefined ? {} : { resourceMetadata: metadata }),
      ...(server === undefined
        ? {}
        : {
            authorizationServer: {
              ...server,
              ...(clientId === undefined ? {} : { clientId }),
              ...(clientSecret === undefined ? {} : { clientSecret }),
            },
          }),
    }
  })
  .describe('Verifies JSON Web Tokens. The claims are available to expressions as `jwt`.')

const NO_PROVIDER = { issuer: '', audiences: [] }

interface Adapted {
  readonly provider?: IdentityProvider | undefined
  readonly clientId?: string | undefined
  readonly clientSecret?: unknown
  readonly resourceMetadata?: object | undefined
}

function adaptationProblem(
  { provider, clientId, clientSecret, resourceMetadata: metadata }: Adapted,
  issuers: readonly (string | undefined)[],
): { readonly key: string; readonly message: string; readonly hint: string } | undefined {
  const hint = 'see "Protect MCP with OAuth" in the documentation'
  const key = clientId === undefined ? 'clientSecret' : 'clientId'
  if (provider === undefined) {
    const isOther = clientId !== undefined || clientSecret !== undefined
    return isOther ? { key, message: '`provider` is missing', hint } : undefined
  }
  if (metadata === undefined) {
    return { key: 'provider', message: '`resourceMetadata` is missing', hint }
  }
  const [issuer = '', ...others] = issuers
  if (others.length > 0 || serverAt(provider, issuer, '') === undefined) {
    const message = '`provider` requires a single issuer, which must be a URL'
    return { key: 'provider', message, hint }
  }
  if (clientSecret === undefined) return undefined
  if (!ADAPTATIONS[provider].rejectsResource) {
    const message = `the gateway does not send token requests to ${provider}`
    return { key: 'clientSecret', message, hint: 'remove `clientSecret`' }
  }
  return clientId === undefined
    ? { key: 'clientSecret', message: '`clientId` is missing', hint }
    : undefined
}

/** Paths at which request bodies are for the authorization server. */
export function pathsOfBody({
  authorizationServer: server,
  resourceMetadata: metadata,
}: JwtAuthentication): readonly string[] {
  return server === undefined ? [] : bodyPaths(metadata?.resource)
}

/** RFC 7515 §4.1.9: `application/` may be omitted; media types are case-insensitive. */
export function mediaType(written: string): string {
  return written.toLowerCase().replace(/^application\//, '')
}

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
  const types = jwtValidationOptions?.types?.map(mediaType)
  const own = { issuer, jwks, audiences, requiredClaims, leeway }
  return types === undefined ? own : { ...own, types }
}
