import * as z from 'zod'
import { confidentialUrl, expression, issue, settingSecret } from '../../../policies/schema.ts'

/** The path on the admin API to which the provider redirects browsers. */
const CALLBACK = '/api/auth/callback'
/** The same where `ui` serves the Admin UI on a gateway. */
const UI_CALLBACK = `/ui${CALLBACK}`

const role = (what: string) =>
  expression('rule', 'traffic')
    .optional()
    .describe(`A CEL expression over the claims in \`jwt\`. Users who match ${what}`)

export const adminAuthSettings = z
  .strictObject({
    oidc: z
      .strictObject({
        issuer: confidentialUrl('an issuer URL').describe(
          'The issuer URL. The provider must serve /.well-known/openid-configuration below it.',
        ),
        clientId: z
          .string()
          .min(1)
          .max(512)
          .describe('The client ID of the gateway, as registered with the provider.'),
        clientSecret: settingSecret()
          .optional()
          .describe('The client secret. Omit it for a public client, which uses PKCE only.'),
        redirectUri: confidentialUrl('a redirect URI')
          .check(({ value, issues }) => {
            const path = URL.parse(value)?.pathname
            if (path === CALLBACK || path === UI_CALLBACK) return
            const hint = `use the address of the admin API with the path ${CALLBACK}, or that of \`ui\` with ${UI_CALLBACK}`
            issues.push(
              issue(value, 'the admin API does not serve this path', { rule: 'malformed', hint }),
            )
          })
          .describe(
            `The address of the admin API, as seen by browsers, with the path ${CALLBACK}; or, to sign in to the Admin UI that \`ui\` serves on a gateway, its address there with ${UI_CALLBACK}.`,
          ),
        scopes: z
          .array(z.string().regex(/^[!#-[\]-~]+$/))
          .min(1)
          .max(64)
          .prefault(['openid', 'profile', 'email'])
          .describe(
            'The scopes to request. Some providers require `offline_access` to issue a refresh token.',
          ),
      })
      .describe(
        'Sign-in with OpenID Connect. Cookies are encrypted with the environment variable `OIDC_COOKIE_SECRET`.',
      ),
    roles: z
      .strictObject({
        viewer: role('can read.'),
        editor: role('can also change the configuration.'),
        admin: role('can also change process settings and rotate keys.'),
      })
      .prefault({})
      .describe(
        'Who gets which role. By default, users have no role. A user who matches several gets the highest.',
      ),
  })
  .optional()
  .describe('Who can use the admin API, in addition to callers with its token.')
