import * as z from 'zod'
import { confidentialUrl, expression, issue, settingSecret } from '../../../policies/schema.ts'

/** The path at which the admin API takes back browsers that come from the provider. */
const CALLBACK = '/api/auth/callback'

const role = (what: string) =>
  expression('rule', 'traffic').optional().describe(`Over \`jwt\`, the claims: ${what}`)

export const adminAuthSettings = z
  .strictObject({
    oidc: z
      .strictObject({
        issuer: confidentialUrl('the URL of an issuer').describe(
          'Has /.well-known/openid-configuration.',
        ),
        clientId: z.string().min(1).max(512).describe('Of the gateway at the provider.'),
        clientSecret: settingSecret()
          .optional()
          .describe('None: a public client, with PKCE alone.'),
        redirectUri: confidentialUrl('a redirect URI')
          .check(({ value, issues }) => {
            if (URL.parse(value)?.pathname === CALLBACK) return
            const hint = `write the address of the admin API with the path ${CALLBACK}`
            issues.push(issue(value, 'nothing is served there', { rule: 'malformed', hint }))
          })
          .describe(`The address of the admin API, as browsers see it, with ${CALLBACK}.`),
        scopes: z
          .array(z.string().regex(/^[!#-[\]-~]+$/))
          .min(1)
          .max(64)
          .prefault(['openid', 'profile', 'email'])
          .describe(
            'The scopes to request; `offline_access` for a refresh token at some providers.',
          ),
      })
      .describe(
        'Sign-in by OpenID Connect. Cookies are encrypted by `OIDC_COOKIE_SECRET` of the environment.',
      ),
    roles: z
      .strictObject({
        viewer: role('may read.'),
        editor: role('may also change the configuration.'),
        admin: role('may also change the process and rotate keys.'),
      })
      .prefault({})
      .describe('Who may do what. No one has a role by default; the highest one counts.'),
  })
  .optional()
  .describe('Who may use the admin API, beside those who have its token.')
