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
  clientId: z
    .string()
    .min(1)
    .max(1024)
    .describe('The client ID of the gateway at the authorization server.'),
  clientSecret: secret()
    .optional()
    .describe(
      'The client secret: a string or `{file}`. Omit it for a public client, which uses PKCE.',
    ),
}

const signIn = () =>
  z.strictObject({
    issuer: confidentialUrl('an issuer URL').describe(
      'The OpenID provider that issues the tokens of the clients. Both must have the same `iss`.',
    ),
    ...client,
    scopes: scopes().describe('The scopes to request. Default: `openid`.'),
  })

/** Protocol parameters that the gateway sets. */
const OWN_PARAMETERS =
  /^(client_id|client_secret|redirect_uri|response_type|response_mode|scope|state|nonce|resource|code_challenge|code_challenge_method|request|request_uri)$/

export const userToken = () =>
  z
    .strictObject({
      issuer: confidentialUrl('an issuer URL')
        .optional()
        .describe(
          'The authorization server of the backend. It must serve ' +
            '`/.well-known/oauth-authorization-server` or `/.well-known/openid-configuration`.',
        ),
      authorizationEndpoint: confidentialUrl('an endpoint URL')
        .optional()
        .describe('The authorization endpoint, for servers without metadata.'),
      tokenEndpoint: confidentialUrl('an endpoint URL')
        .optional()
        .describe('The token endpoint, for servers without metadata.'),
      revocationEndpoint: confidentialUrl('an endpoint URL')
        .optional()
        .describe('The revocation endpoint (RFC 7009), for servers without metadata.'),
      ...client,
      clientAuthentication: choice('Basic', 'Post')
        .prefault('Basic')
        .describe('Whether to send the secret with HTTP Basic authentication or in the form body.'),
      scopes: scopes().describe('The scopes that users consent to.'),
      resources: z
        .array(z.string().min(1).max(2048))
        .min(1)
        .max(16)
        .optional()
        .describe('The resources to request tokens for, as URLs (RFC 8707).'),
      parameters: z
        .record(
          z
            .string()
            .min(1)
            .max(256)
            .refine((name) => !OWN_PARAMETERS.test(name), {
              message: 'the gateway sets this parameter',
            }),
          z.string().max(2048),
        )
        .optional()
        .describe(
          'Additional parameters of the authorization request, such as `access_type: offline`.',
        ),
      redirectUri: confidentialUrl('a redirect URI')
        .check(({ value, issues }) => {
          const url = URL.parse(value)
          if (url === null) return
          if (url.search === '' && url.hash === '' && !PAGE_PATH.test(url.pathname)) return
          const hint = 'use the address of the gateway with a path such as /connect/callback'
          issues.push(issue(value, 'invalid redirect URI', { rule: 'malformed', hint }))
        })
        .describe(
          'The address of the gateway to which the authorization server redirects browsers. ' +
            'Next to it, the gateway serves `connect`, `signed-in` and `disconnect`, before any routes.',
        ),
      userClaim: z
        .string()
        .min(1)
        .max(256)
        .prefault('sub')
        .describe(
          'The claim that identifies a user, in client tokens and in tokens from `signIn`.',
        ),
      signIn: signIn().describe(
        'Users who open a consent link sign in here first, so that they cannot connect their ' +
          'account to another user. Its redirect URI is `signed-in` next to `redirectUri`.',
      ),
    })
    .check(({ value, issues }) => {
      const { issuer, authorizationEndpoint, tokenEndpoint } = value
      const endpoints = [authorizationEndpoint, tokenEndpoint, value.revocationEndpoint]
      if (issuer === undefined && (endpoints[0] === undefined || endpoints[1] === undefined)) {
        const message = 'set `issuer`, or both `authorizationEndpoint` and `tokenEndpoint`'
        issues.push(issue(value, message, { rule: 'missing' }))
      }
      if (issuer !== undefined && endpoints.some((one) => one !== undefined)) {
        const hint = 'the endpoints are read from the metadata of `issuer`'
        const message = '`issuer` and endpoints are mutually exclusive'
        issues.push(issue(value, message, { rule: 'excludes', hint }, ['issuer']))
      }
    })

/** Callback paths that end in a slash or would collide with a sibling page. */
const PAGE_PATH = /(?:\/|\/(?:connect|signed-in|disconnect))$/

type Written = z.output<ReturnType<typeof userToken>>

/** A token that the user consented to and the gateway stores. */
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
  // Without this scope, a provider sends no ID token.
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
