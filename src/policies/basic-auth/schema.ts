import * as z from 'zod'
import { credentialLocation } from '../credential-location.ts'
import { sealSecret, secret } from '../materials.ts'
import { choice } from '../scalars.ts'
import { aliased, issue, oneOfKeys } from '../shapes.ts'

/** bcrypt, argon2, htpasswd SHA-1, SHA-2 crypt and Apache's MD5; never plain text. */
const ENTRY = /^[^:\s]+:(\$2[abxy]\$|\$argon2(id|i|d)\$|\{SHA\}|\$[56]\$|\$apr1\$)\S+$/

const user = () =>
  z
    .string()
    .max(1024)
    .meta({ title: 'line of an htpasswd file' })
    .check(({ value, issues }) => {
      if (ENTRY.test(value)) return
      const message = 'expected `name:hash` with a supported hash'
      const hint =
        'generate a line with `htpasswd -nB name`; plain-text passwords are not supported'
      issues.push(issue(value, message, { rule: 'malformed', hint }))
    })

const shape = {
  htpasswd: secret()
    .optional()
    .describe('Users and password hashes in htpasswd format: a string or `{file}`.'),
  users: z
    .array(user())
    .min(1)
    .max(1024)
    .optional()
    .describe('The same as a list of lines, instead of `htpasswd`.'),
  realm: z
    .string()
    .regex(/^[ !#-[\]-~]*$/)
    .max(256)
    .prefault('Restricted')
    .describe('The realm that browsers show when they prompt for a password.'),
  mode: choice('Strict', 'Optional')
    .prefault('Strict')
    .describe(
      'Strict: requests without valid credentials get 401. Optional: credentials are not required, but invalid ones get 401.',
    ),
  location: credentialLocation('Basic '),
}

export const basicAuth = oneOfKeys(aliased(shape, { authorizationLocation: 'location' }), [
  'htpasswd',
  'users',
])
  .transform(({ htpasswd, users, ...rest }) => ({
    ...rest,
    htpasswd: htpasswd ?? sealSecret((users ?? []).join('\n')),
  }))
  .describe(
    'Authenticates users by name and password. The name is available to expressions as `basicAuth.username`.',
  )

export type BasicAuth = z.output<typeof basicAuth>
