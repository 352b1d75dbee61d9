import * as z from 'zod'
import { secret } from '../materials.ts'
import { choice, confidentialUrl } from '../scalars.ts'
import { aliased, issue } from '../shapes.ts'

const shape = {
  issuer: confidentialUrl('an issuer URL').describe(
    'The issuer URL of the OpenID provider. It must serve `/.well-known/openid-configuration`.',
  ),
  clientId: z.string().min(1).max(512).describe('The client ID of the gateway at the provider.'),
  clientSecret: secret()
    .optional()
    .describe(
      'The client secret: a string or `{file}`. Omit it for a public client, which uses PKCE.',
    ),
  redirectUri: confidentialUrl('a redirect URI')
    .check(({ value, issues }) => {
      const url = URL.parse(value)
      if (url === null || (url.search === '' && url.hash === '' && !url.pathname.endsWith('/'))) {
        return
      }
      const hint = 'use the address of the application with a path such as /oauth2/callback'
      issues.push(issue(value, 'invalid redirect URI', { rule: 'malformed', hint }))
    })
    .describe(
      'The URL to which the provider redirects browsers. The route serves its path and, next to it, ' +
        '`login`, `logout` and `backchannel-logout`.',
    ),
  scopes: z
    .array(z.string().regex(/^[!#-[\]-~]+$/))
    .min(1)
    .max(64)
    .prefault(['openid', 'profile', 'email'])
    .describe(
      'The scopes to request. `openid` is always included. Some providers require `offline_access` to issue a refresh token.',
    ),
  mode: choice('Strict', 'Optional')
    .prefault('Strict')
    .describe(
      'Strict: browsers without a session are redirected to the provider, other clients get 401. ' +
        'Optional: requests without a session are admitted, and `jwt` is unset.',
    ),
  cookieSecret: secret()
    .optional()
    .describe(
      'The key of session cookies: 64 random hexadecimal digits. Defaults to the environment variable ' +
        '`OIDC_COOKIE_SECRET`.',
    ),
}

export const oidc = aliased(shape, { redirectURI: 'redirectUri' })
  // Without this scope, a provider sends no ID token.
  .transform(({ scopes, ...rest }) => ({
    ...rest,
    scopes: scopes.includes('openid') ? scopes : ['openid', ...scopes],
  }))
  .describe(
    'Signs users in with an OpenID provider. The claims are available to expressions as `jwt`.',
  )

export type Oidc = z.output<typeof oidc>

/** The pages of a policy: the callback of the provider, and its siblings. */
export interface SignInPaths {
  readonly callback: string
  readonly login: string
  readonly logout: string
  readonly backchannelLogout: string
}

export function signInPaths({ redirectUri }: Pick<Oidc, 'redirectUri'>): SignInPaths {
  const { pathname: callback } = new URL(redirectUri)
  const folder = callback.slice(0, callback.lastIndexOf('/') + 1)
  return {
    callback,
    login: `${folder}login`,
    logout: `${folder}logout`,
    backchannelLogout: `${folder}backchannel-logout`,
  }
}

/** The only page that reads request bodies. */
export function pathOfBody(value: Oidc): string {
  return signInPaths(value).backchannelLogout
}
