import * as z from 'zod'
import type { SecretRef } from '../../model/secret.ts'
import { annotate, type CheckText } from '../annotations.ts'
import { type SentLocation, sentLocation } from '../credential-location.ts'
import { secret, toSecretRef } from '../materials.ts'
import { choice, duration, url } from '../scalars.ts'
import { issue, oneOfKeys } from '../shapes.ts'
import { type HostTarget, parseHost } from '../target.ts'

const HINT =
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is what a file says
  'take it from a file with `key: { file: PATH }`, or from the environment with `key: ${NAME}`'

/** RFC 9110 §5.5; blanks and line ends around it are not part of the key. */
export function isSendable(key: string): boolean {
  return /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key)
}

const sendable: CheckText = (text) =>
  isSendable(text.trim())
    ? undefined
    : {
        message: 'the file has no key that can be sent',
        hint: 'put the key alone into it, on one line, in ASCII',
      }

const plainKey = () =>
  annotate(z.string().min(1).max(8192), { is: 'credential', hint: HINT }).check(
    ({ value, issues }) => {
      if (isSendable(value.trim())) return
      const params = { rule: 'malformed', hint: 'a key is one line of ASCII' } as const
      issues.push(issue('', 'this key cannot be sent in a header', params))
    },
  )

const keyFile = () =>
  z.strictObject({
    file: annotate(z.string().min(1).max(4096).meta({ title: 'path' }), {
      is: 'path',
      check: sendable,
    }).describe('The path of a file with the key.'),
  })

const keyText = () => z.union([plainKey(), keyFile()]).transform(toSecretRef)

const key = () =>
  z.union([
    keyText().transform((secret) => ({ secret, location: undefined })),
    z
      .strictObject({
        value: keyText().describe('The key: its text, or `{file}`.'),
        location: sentLocation().optional(),
      })
      .transform(({ value, location }) => ({ secret: value, location })),
  ])

const aws = () =>
  z.strictObject({
    accessKeyId: z
      .string()
      .regex(/^[A-Za-z0-9]{4,128}$/)
      .describe('The id of the access key.'),
    secretAccessKey: secret().describe('The secret access key: its text, or `{file}`.'),
    sessionToken: secret().optional().describe('The token of temporary credentials.'),
    region: z
      .string()
      .regex(/^[a-z0-9-]{1,32}$/)
      .optional()
      .describe('The region; by default that of the provider.'),
    service: z
      .string()
      .regex(/^[a-z0-9-]{1,32}$/)
      .prefault('bedrock')
      .describe('The service that requests are signed for.'),
  })

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
      clientId: z.string().min(1).max(1024).describe('The gateway, as a client there.'),
      clientSecret: secret()
        .optional()
        .describe('Its secret: the text, or `{file}`; none for a public client.'),
      clientAuthentication: choice('Basic', 'Post')
        .prefault('Basic')
        .describe('Whether the secret is sent as basic authentication or in the form.'),
      audiences: names().describe('The servers that the token is to be good for, by name.'),
      resources: names().describe('The same by URL (RFC 8707).'),
      scopes: names().describe('The scopes of the token.'),
      subjectTokenType: choice('AccessToken', 'Jwt', 'IdToken')
        .prefault('AccessToken')
        .describe('What the token of the client is.'),
      timeout: duration().prefault('10s').describe('For a request to the token endpoint.'),
    })
    .check(({ value, issues }) => {
      const { audiences, resources, tokenEndpoint } = value
      if (audiences === undefined && resources === undefined) {
        const hint = 'name the server with `audiences` or `resources`'
        const message = 'the token would be good for any server'
        issues.push(issue(value, message, { rule: 'missing', hint }))
      }
      if (hostOf(tokenEndpoint) === undefined) {
        const hint = 'write https://host/path'
        const params = { rule: 'malformed', hint } as const
        issues.push(
          issue(tokenEndpoint, 'not the URL of a token endpoint', params, ['tokenEndpoint']),
        )
      }
    })

/** Where a URL leads to, and its path there. */
function hostOf(text: string): { readonly target: HostTarget; readonly path: string } | undefined {
  const { origin, pathname, search } = new URL(text)
  const target = parseHost(origin)
  return target === undefined ? undefined : { target, path: `${pathname}${search}` }
}

const passthrough = () => z.strictObject({ location: sentLocation().optional() })

export const backendAuth = oneOfKeys(
  z.strictObject({
    key: key()
      .optional()
      .describe('A key: its text, `{file}`, or `{value, location}`. The text is never shown.'),
    passthrough: passthrough()
      .optional()
      .describe(
        'The credential by which the gateway authenticated the client, where the client sent it ' +
          'or at `location`.',
      ),
    aws: aws()
      .optional()
      .describe('Signs calls to models with credentials of AWS (Signature Version 4).'),
    oauthTokenExchange: tokenExchange()
      .optional()
      .describe(
        'A token for this backend, which the authorization server gives for the one by which the ' +
          "gateway authenticated the client (RFC 8693). The client's own is never sent.",
      ),
    location: sentLocation().optional(),
  }),
  ['key', 'passthrough', 'aws', 'oauthTokenExchange'],
)
  .transform(({ key, passthrough, aws, oauthTokenExchange: exchange, location }): BackendAuth => {
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
      const { sessionToken, region, ...rest } = aws
      return {
        kind: 'aws',
        ...rest,
        ...(sessionToken === undefined ? {} : { sessionToken }),
        ...(region === undefined ? {} : { region }),
      }
    }
    if (key !== undefined) {
      const own = key.location ?? location ?? BEARER
      return { kind: 'key', key: key.secret, location: own }
    }
    const own = passthrough?.location ?? location
    return own === undefined ? { kind: 'passthrough' } : { kind: 'passthrough', location: own }
  })
  .describe('The credential that the gateway sends to the backend.')

const BEARER: SentLocation = { kind: 'header', name: 'authorization', prefix: 'Bearer ' }

export type BackendAuth =
  | { readonly kind: 'key'; readonly key: SecretRef; readonly location: SentLocation }
  /** Without a location, where each client sent its own. */
  | { readonly kind: 'passthrough'; readonly location?: SentLocation }
  | {
      readonly kind: 'aws'
      readonly accessKeyId: string
      readonly secretAccessKey: SecretRef
      readonly sessionToken?: SecretRef
      readonly region?: string
      readonly service: string
    }
  | TokenExchange

export interface TokenExchange {
  readonly kind: 'exchange'
  /** The authorization server, and its token endpoint there. */
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
