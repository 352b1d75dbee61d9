import type { SecretRef } from '../../model/secret.ts'
import { type HostTarget, parseHost } from '../target.ts'

/** Identity providers that MCP clients cannot use directly. */
export const IDENTITY_PROVIDERS = [
  'Auth0',
  'Keycloak',
  'Okta',
  'Descope',
  'Authentik',
  'Entra',
] as const

export type IdentityProvider = (typeof IDENTITY_PROVIDERS)[number]

/** What the gateway adapts for clients of one provider. */
interface Adaptation {
  /** Path of its metadata, below the issuer. */
  readonly metadata: string
  /** URL of its keys. */
  keys(issuer: string): string
  /**
   * It chooses the audience of a token by `audience`, and does not support `resource` (RFC 8707).
   */
  readonly takesAudience: boolean
  /** It rejects `resource`, so the gateway serves its endpoints. */
  readonly rejectsResource: boolean
}

const OPENID = '/.well-known/openid-configuration'
const OAUTH = '/.well-known/oauth-authorization-server'

const usual = (keys: string, more: Partial<Adaptation> = {}): Adaptation => ({
  metadata: OPENID,
  keys: (issuer) => `${issuer}${keys}`,
  takesAudience: false,
  rejectsResource: false,
  ...more,
})

export const ADAPTATIONS: Readonly<Record<IdentityProvider, Adaptation>> = {
  Auth0: usual('/.well-known/jwks.json', { takesAudience: true }),
  Keycloak: usual('/protocol/openid-connect/certs'),
  Okta: usual('/v1/keys', { metadata: OAUTH, takesAudience: true }),
  Descope: usual('/.well-known/jwks.json'),
  Authentik: usual('/jwks/'),
  // In version 2.0, the keys are next to the version, not below it.
  Entra: usual('', {
    keys: (issuer) => issuer.replace(/(\/v2\.0)?$/, '/discovery/v2.0/keys'),
    rejectsResource: true,
  }),
}

/** The authorization server that the gateway presents to MCP clients. */
export interface AuthorizationServer {
  readonly provider: IdentityProvider
  /** As in its metadata and its tokens. */
  readonly issuer: string
  readonly target: HostTarget
  readonly metadataPath: string
  readonly audience: string
  /** The shared client of all users, instead of registration. */
  readonly clientId?: string
  readonly clientSecret?: SecretRef
}

export function withoutSlash(issuer: string): string {
  return issuer.replace(/\/+$/, '')
}

/** Undefined if the issuer is not a URL that can be called. */
export function serverAt(
  provider: IdentityProvider,
  issuer: string,
  audience: string,
): AuthorizationServer | undefined {
  const url = URL.parse(issuer)
  if (url === null || url.search !== '' || url.hash !== '') return undefined
  const target = parseHost(url.origin)
  if (target === undefined) return undefined
  const metadataPath = `${withoutSlash(url.pathname)}${ADAPTATIONS[provider].metadata}`
  return { provider, issuer, target, metadataPath, audience }
}

/** The gateway's own endpoints, below the metadata. */
export const REGISTRATION = 'client-registration'
export const TOKEN = 'token'
export const AUTHORIZE = 'authorize'

/** RFC 8414 §3: where clients look, on the host of the resource. */
export const SERVER_METADATA = OAUTH

/** Paths at which the gateway reads the body. */
export function bodyPaths(resource: string | undefined): readonly string[] {
  const path = withoutSlash(URL.parse(resource ?? '')?.pathname ?? '')
  return [...new Set(['', '/mcp', path])].flatMap((own) =>
    [REGISTRATION, TOKEN].map((name) => `${SERVER_METADATA}${own}/${name}`),
  )
}
