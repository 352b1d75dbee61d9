import * as z from 'zod'
import type { SecretRef } from '../../model/secret.ts'
import type { SentLocation } from '../credential-location.ts'
import { secret } from '../materials.ts'
import { choice, confidentialUrl } from '../scalars.ts'
import { issue } from '../shapes.ts'

const scopes = () =>
  z
    .array(z.string().regex(/^[!#-[\]-~]+$/))
    .min(1)
    .max(64)
    .optional()

const client = {
  clientId: z.string().min(1).max(1024).describe('The gateway, as a client there.'),
  clientSecret: secret()
    .optional()
    .describe('Its secret: the text, or `{file}`; none for a public client, with PKCE.'),
}

const signIn = () =>
  z.strictObject({
    issuer: confidentialUrl('the URL of an issuer').describe(
      'The OpenID provider that issues the tokens of the clients: `iss` of both is the same.',
    ),
    ...client,
    scopes: scopes().describe('The scopes to request; by default `openid` alone.'),
  })

/** Parameters of the protocol, which the gateway sets. */
const OWN_PARAMETERS =
  /^(client_id|client_secret|redirect_uri|response_type|response_mode|scope|state|nonce|resource|code_challenge|code_challenge_method|request|request_uri)$/

export const userToken = () =>
  z
    .strictObject({
      issuer: confidentialUrl('the URL of an issuer')
        .optional()
        .describe(
          'The authorization server of the backend; it serves ' +
            '`/.well-known/oauth-authorization-server` or `/.well-known/openid-configuration`.',
        ),
      authorizationEndpoint: confidentialUrl('the URL of an endpoint')
        .optional()
        .describe('Where users consent, at a server without metadata.'),
      tokenEndpoint: confidentialUrl('the URL of an endpoint')
        .optional()
        .describe('Where tokens are issued, at a server without metadata.'),
      revocationEndpoint: confidentialUrl('the URL of an endpoint')
        .optional()
        .describe('Where tokens are revoked (RFC 7009), at a server without metadata.'),
      ...client,
      clientAuthentication: choice('Basic', 'Post')
        .prefault('Basic')
        .describe('Whether the secret is sent as basic authentication or in the form.'),
      scopes: scopes().describe('The scopes that users consent to.'),
      resources: z
        .array(z.string().min(1).max(2048))
        .min(1)
        .max(16)
        .optional()
        .describe('The servers that tokens are to be good for, by URL (RFC 8707).'),
      parameters: z
        .record(
          z
            .string()
            .min(1)
            .max(256)
            .refine((name) => !OWN_PARAMETERS.test(name), {
              message: 'this parameter is set by the gateway',
            }),
          z.string().max(2048),
        )
        .optional()
        .describe(
          'Further parameters of the authorization request, such as `access_type: offline`.',
        ),
      redirectUri: confidentialUrl('a redirect URI')
        .check(({ value, issues }) => {
          const url = URL.parse(value)
          if (url === null) return
          if (url.search === '' && url.hash === '' && !PAGE_PATH.test(url.pathname)) return
          const hint = 'write the address of the gateway with a path such as /connect/callback'
          issues.push(issue(value, 'this is not a redirect URI', { rule: 'malformed', hint }))
        })
        .describe(
          'Where the authorization server sends browsers back to: an address of the gateway. ' +
            'Beside it the gateway serves `connect`, `signed-in` and `disconnect`, before routes.',
        ),
      userClaim: z
        .string()
        .min(1)
        .max(256)
        .prefault('sub')
        .describe('The claim that a user is known by, in tokens of clients and of `signIn`.'),
      signIn: signIn().describe(
        'A user who opens a link to consent signs in here first, so that no one connects their ' +
          'account to that of another user. Its redirect URI is `signed-in` beside `redirectUri`.',
      ),
    })
    .check(({ value, issues }) => {
      const { issuer, authorizationEndpoint, tokenEndpoint } = value
      const endpoints = [authorizationEndpoint, tokenEndpoint, value.revocationEndpoint]
      if (issuer === undefined && (endpoints[0] === undefined || endpoints[1] === undefined)) {
        const message = '`issuer`, or `authorizationEndpoint` and `tokenEndpoint`, must be set'
        issues.push(issue(value, message, { rule: 'missing' }))
      }
      if (issuer !== undefined && endpoints.some((one) => one !== undefined)) {
        const hint = 'the endpoints follow from the metadata of `issuer`'
        const message = '`issuer` and endpoints exclude each other'
        issues.push(issue(value, message, { rule: 'excludes', hint }, ['issuer']))
      }
    })

/** What would be served beside itself, or nowhere. */
const PAGE_PATH = /(?:\/|\/(?:connect|signed-in|disconnect))$/

type Written = z.output<ReturnType<typeof userToken>>

/** A token of the user, which the user consented to and the gateway keeps. */
export interface UserToken {
  readonly kind: 'user'
  readonly issuer?: string
  readonly authorizationEndpoint?: string
  readonly tokenEndpoint?: string
  readonly revocationEndpoint?: string
  readonly clientId: string
  readonly clientSecret?: SecretRef
  readonly clientAuthentication: 'Basic' | 'Post'
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  readonly parameters: Readonly<Record<string, string>>
  readonly redirectUri: string
  readonly userClaim: string
  readonly signIn: {
    readonly issuer: string
    readonly clientId: string
    readonly clientSecret?: SecretRef
    readonly scopes: readonly string[]
  }
  readonly location: SentLocation
}

export function userTokenOf(written: Written, location: SentLocation): UserToken {
  const { scopes = [], resources = [], parameters = {}, signIn, ...rest } = written
  const { scopes: asked = [], ...own } = signIn
  // Without it a provider sends no ID token.
  const openId = asked.includes('openid') ? asked : ['openid', ...asked]
  const { clientAuthentication, clientId, redirectUri, userClaim } = rest
  return {
    kind: 'user',
    ...(present(rest) as Pick<UserToken, 'issuer' | 'clientSecret'>),
    clientId,
    clientAuthentication,
    redirectUri,
    userClaim,
    scopes,
    resources,
    parameters,
    signIn: {
      ...(present(own) as Pick<UserToken['signIn'], 'clientSecret'>),
      issuer: own.issuer,
      clientId: own.clientId,
      scopes: openId,
    },
    location,
  }
}

function present(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined))
}

/** The pages that the gateway serves. */
export interface ConsentPaths {
  readonly host: string
  readonly connect: string
  readonly signedIn: string
  readonly callback: string
  readonly disconnect: string
}

export function consentPaths({ redirectUri }: Pick<UserToken, 'redirectUri'>): ConsentPaths {
  const { hostname, pathname: callback } = new URL(redirectUri)
  const folder = callback.slice(0, callback.lastIndexOf('/') + 1)
  return {
    host: hostname,
    connect: `${folder}connect`,
    signedIn: `${folder}signed-in`,
    callback,
    disconnect: `${folder}disconnect`,
  }
}
