import * as z from 'zod'
import type { JsonObject } from '../../model/json.ts'
import type { SecretRef } from '../../model/secret.ts'
import { areWhole, awsKeys } from '../aws-keys.ts'
import { type AzureIdentity, azureIdentity } from '../azure-identity.ts'
import { type SentLocation, sentLocation } from '../credential-location.ts'
import { secret } from '../materials.ts'
import { anything, choice, duration, url } from '../scalars.ts'
import { keyText } from '../sent-key.ts'
import { aliased, issue } from '../shapes.ts'
import { type HostTarget, parseHost } from '../target.ts'
import { type UserToken, userToken, userTokenOf } from './user-token-schema.ts'

const key = () =>
  z.union([
    keyText().transform((secret) => ({ secret, location: undefined })),
    z
      .strictObject({
        value: keyText().describe('The key: a string or `{file}`.'),
        location: sentLocation().optional(),
      })
      .transform(({ value, location }) => ({ secret: value, location })),
  ])

const awsShape = {
  ...awsKeys(
    'The access key ID. If omitted, credentials are taken from the environment: ' +
      'variables, a web identity, the container or the EC2 instance.',
  ),
  region: z
    .string()
    .regex(/^[a-z0-9-]{1,32}$/)
    .optional()
    .describe('The region. Defaults to that of the provider.'),
  service: z
    .string()
    .regex(/^[a-z0-9-]{1,32}$/)
    .prefault('bedrock')
    .describe('The AWS service to sign requests for.'),
}

const aws = () => aliased(awsShape, { serviceName: 'service' }).check(areWhole)

const TOKEN_TYPES = {
  AccessToken: 'urn:ietf:params:oauth:token-type:access_token',
  Jwt: 'urn:ietf:params:oauth:token-type:jwt',
  IdToken: 'urn:ietf:params:oauth:token-type:id_token',
} as const

const names = () => z.array(z.string().min(1).max(2048)).min(1).max(16).optional()

const tokenExchange = () =>
  z
    .strictObject({
      tokenEndpoint: url().describe('The token endpoint of the authorization server.'),
      clientId: z
        .string()
        .min(1)
        .max(1024)
        .describe('The client ID of the gateway at the authorization server.'),
      clientSecret: secret()
        .optional()
        .describe('The client secret: a string or `{file}`. Omit it for a public client.'),
      clientAuthentication: choice('Basic', 'Post')
        .prefault('Basic')
        .describe('Whether to send the secret with HTTP Basic authentication or in the form body.'),
      audiences: names().describe('The audiences to request.'),
      resources: names().describe('The resources to request, as URLs (RFC 8707).'),
      scopes: names().describe('The scopes to request.'),
      subjectTokenType: choice('AccessToken', 'Jwt', 'IdToken')
        .prefault('AccessToken')
        .describe("The type of the client's token."),
      timeout: duration()
        .prefault('10s')
        .describe('The timeout of requests to the token endpoint.'),
    })
    .check(({ value, issues }) => {
      const { audiences, resources, tokenEndpoint } = value
      if (audiences === undefined && resources === undefined) {
        const hint = 'set `audiences` or `resources`'
        const message = 'the token would be valid for any server'
        issues.push(issue(value, message, { rule: 'missing', hint }))
      }
      if (hostOf(tokenEndpoint) === undefined) {
        const hint = 'use https://host/path'
        const params = { rule: 'malformed', hint } as const
        issues.push(issue(tokenEndpoint, 'invalid token endpoint URL', params, ['tokenEndpoint']))
      }
    })

/** The host of a URL, and the path on it. */
function hostOf(text: string): { readonly target: HostTarget; readonly path: string } | undefined {
  const { origin, pathname, search } = new URL(text)
  const target = parseHost(origin)
  return target === undefined ? undefined : { target, path: `${pathname}${search}` }
}

/** JWS algorithms (RFC 7518) that sign with a private key. */
export const SIGNING_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const

const OWN_CLAIMS = ['iat', 'nbf', 'exp', 'jti']

const jwtSign = () =>
  z.strictObject({
    signingKey: secret().describe('The private key in PEM format: a string or `{file}`.'),
    alg: z.enum(SIGNING_ALGORITHMS).prefault('RS256').describe('The signature algorithm.'),
    kid: z.string().min(1).max(256).optional().describe('The key ID for the token header.'),
    claims: z
      .record(
        z
          .string()
          .min(1)
          .max(256)
          .refine((name) => !OWN_CLAIMS.includes(name), {
            message: 'the gateway sets `iat`, `nbf`, `exp` and `jti`',
          }),
        anything,
      )
      .prefault({})
      .describe('Static claims: `iss`, `sub`, `aud`, …'),
    ttl: duration().prefault('5m').describe('The lifetime of a token.'),
    location: sentLocation().optional(),
  })

const credential = () =>
  z.strictObject({
    key: keyText().describe('The key: a string or `{file}`.'),
    location: sentLocation().optional(),
  })

const passthrough = () => z.strictObject({ location: sentLocation().optional() })

const CHOICES = [
  'key',
  'passthrough',
  'aws',
  'azure',
  'oauthTokenExchange',
  'oauthUserToken',
  'jwtSign',
]

export const backendAuth = z
  .strictObject({
    key: key()
      .optional()
      .describe('A key: a string, `{file}` or `{value, location}`. Its value is never shown.'),
    passthrough: passthrough()
      .optional()
      .describe(
        'Forwards the credential that authenticated the client, in the place where the client sent it ' +
          'or at `location`.',
      ),
    aws: aws()
      .optional()
      .describe('Signs calls to models with AWS credentials (Signature Version 4).'),
    azure: azureIdentity()
      .optional()
      .describe('A Microsoft Entra ID token that the gateway fetches and caches.'),
    oauthTokenExchange: tokenExchange()
      .optional()
      .describe(
        'A token for this backend that the authorization server issues in exchange for the token that ' +
          "authenticated the client (RFC 8693). The client's own token is never sent.",
      ),
    oauthUserToken: userToken()
      .optional()
      .describe(
        'A token of the user for this backend. The user consents once in a browser; the ' +
          "gateway stores and renews the token. The client's own token is never sent.",
      ),
    jwtSign: jwtSign()
      .optional()
      .describe('A JWT that the gateway signs for each request with its own key.'),
    credentials: z
      .array(credential())
      .min(1)
      .max(16)
      .optional()
      .describe(
        'Additional keys to send, each in its own location, with or without one of the above.',
      ),
    location: sentLocation().optional(),
  })
  .check(({ value, issues }) => {
    const present = CHOICES.filter((key) => value[key as keyof typeof value] !== undefined)
    const choices = CHOICES.map((key) => `\`${key}\``).join(', ')
    if (present.length === 0 && value.credentials === undefined) {
      const message = `one of ${choices} or \`credentials\` must be set`
      issues.push(issue(value, message, { rule: 'missing' }))
    }
    if (present.length > 1) {
      const message = `${present.map((key) => `\`${key}\``).join(' and ')} are mutually exclusive`
      const params = { rule: 'excludes', hint: `set only one of ${choices}` } as const
      issues.push(issue(value, message, params, [present[1] as string]))
    }
  })
  .transform(({ credentials = [], ...written }): BackendAuth => {
    const keys = credentials.map(({ key, location = BEARER }) => ({ key, location }))
    if (CHOICES.some((key) => written[key as keyof typeof written] !== undefined)) {
      const one = oneCredential(written)
      return keys.length === 0 ? one : { ...one, further: keys }
    }
    const [first, ...further] = keys as [SentKey, ...SentKey[]]
    const one = { kind: 'key', ...first } as const
    return further.length === 0 ? one : { ...one, further }
  })
  .describe('The credential that the gateway sends to the backend.')

interface Written {
  readonly key?: z.output<ReturnType<typeof key>> | undefined
  readonly passthrough?: z.output<ReturnType<typeof passthrough>> | undefined
  readonly aws?: z.output<ReturnType<typeof aws>> | undefined
  readonly azure?: AzureIdentity | undefined
  readonly oauthTokenExchange?: z.output<ReturnType<typeof tokenExchange>> | undefined
  readonly oauthUserToken?: z.output<ReturnType<typeof userToken>> | undefined
  readonly jwtSign?: z.output<ReturnType<typeof jwtSign>> | undefined
  readonly location?: SentLocation | undefined
}

function oneCredential(written: Written): OneCredential {
  const { key, passthrough, aws, azure, oauthTokenExchange: exchange, jwtSign, location } = written
  if (azure !== undefined) return { kind: 'azure', identity: azure, location: location ?? BEARER }
  if (written.oauthUserToken !== undefined) {
    return userTokenOf(written.oauthUserToken, location ?? BEARER)
  }
  if (exchange !== undefined) {
    const { tokenEndpoint, clientSecret, subjectTokenType, ...rest } = exchange
    const { target, path } = hostOf(tokenEndpoint) as NonNullable<ReturnType<typeof hostOf>>
    const { audiences = [], resources = [], scopes = [] } = rest
    return {
      kind: 'exchange',
      target,
      path,
      clientId: rest.clientId,
      ...(clientSecret === undefined ? {} : { clientSecret }),
      clientAuthentication: rest.clientAuthentication,
      audiences,
      resources,
      scopes,
      subjectTokenType: TOKEN_TYPES[subjectTokenType],
      timeout: rest.timeout,
      location: location ?? BEARER,
    }
  }
  if (aws !== undefined) {
    const { service } = aws
    const given = Object.entries(aws).filter(([, value]) => value !== undefined)
    return { kind: 'aws', ...Object.fromEntries(given), service }
  }
  if (key !== undefined) {
    const own = key.location ?? location ?? BEARER
    return { kind: 'key', key: key.secret, location: own }
  }
  if (jwtSign !== undefined) {
    const { signingKey, alg, claims, ttl, kid } = jwtSign
    return {
      kind: 'signed',
      signingKey,
      alg,
      ...(kid === undefined ? {} : { kid }),
      claims: claims as JsonObject,
      ttl,
      location: jwtSign.location ?? location ?? BEARER,
    }
  }
  const own = passthrough?.location ?? location
  return own === undefined ? { kind: 'passthrough' } : { kind: 'passthrough', location: own }
}

const BEARER: SentLocation = { kind: 'header', name: 'authorization', prefix: 'Bearer ' }

/** A key, and where it is sent. */
export interface SentKey {
  readonly key: SecretRef
  readonly location: SentLocation
}

/** `further`: additional keys that are sent. */
/** Credentials that sign requests need the whole call. */
export function backendsOfCredential({ kind }: BackendAuth): readonly ['ai'] | undefined {
  return kind === 'aws' ? ['ai'] : undefined
}

export type BackendAuth = OneCredential & { readonly further?: readonly SentKey[] }

type OneCredential =
  | ({ readonly kind: 'key' } & SentKey)
  /** Without a location, each credential is sent where the client sent it. */
  | { readonly kind: 'passthrough'; readonly location?: SentLocation }
  | {
      readonly kind: 'aws'
      /** If neither is set, the credentials of the environment apply. */
      readonly accessKeyId?: string
      readonly secretAccessKey?: SecretRef
      readonly sessionToken?: SecretRef
      readonly region?: string
      readonly service: string
    }
  | AzureToken
  | TokenExchange
  | UserToken
  | SignedToken

/** A Microsoft Entra ID token for the gateway itself. */
export interface AzureToken {
  readonly kind: 'azure'
  readonly identity: AzureIdentity
  readonly location: SentLocation
}

/** A token that the gateway signs. */
export interface SignedToken {
  readonly kind: 'signed'
  readonly signingKey: SecretRef
  readonly alg: (typeof SIGNING_ALGORITHMS)[number]
  readonly kid?: string
  readonly claims: JsonObject
  /** In milliseconds. */
  readonly ttl: number
  readonly location: SentLocation
}

export interface TokenExchange {
  readonly kind: 'exchange'
  /** The authorization server, and the path of its token endpoint. */
  readonly target: HostTarget
  readonly path: string
  readonly clientId: string
  readonly clientSecret?: SecretRef
  readonly clientAuthentication: 'Basic' | 'Post'
  readonly audiences: readonly string[]
  readonly resources: readonly string[]
  readonly scopes: readonly string[]
  /** RFC 8693 §3 */
  readonly subjectTokenType: string
  readonly timeout: number
  readonly location: SentLocation
}
