import * as z from 'zod'
import { credentialLocation } from '../credential-location.ts'
import { sealSecret, secret } from '../materials.ts'
import { choice } from '../scalars.ts'
import { aliased, issue, oneOfKeys } from '../shapes.ts'

/** bcrypt, argon2, SHA-1 of htpasswd, SHA-2 crypt and Apache's MD5; never plain text. */
const ENTRY = /^[^:\s]+:(\$2[abxy]\$|\$argon2(id|i|d)\$|\{SHA\}|\$[56]\$|\$apr1\$)\S+$/

const user = () =>
  z
    .string()
    .max(1024)
    .meta({ title: 'line of an htpasswd file' })
    .check(({ value, issues }) => {
      if (ENTRY.test(value)) return
      const message = 'this is not `name:hash` with a hash that is known'
      const hint = 'make one with `htpasswd -nB name`; passwords in plain text are not taken'
      issues.push(issue(value, message, { rule: 'malformed', hint }))
    })

const shape = {
  htpasswd: secret()
    .optional()
    .describe('The users and their hashes, as `htpasswd` writes them: the text or `{file}`.'),
  users: z
    .array(user())
    .min(1)
    .max(1024)
    .optional()
    .describe('The same as a list of lines, in place of `htpasswd`.'),
  realm: z
    .string()
    .regex(/^[ !#-[\]-~]*$/)
    .max(256)
    .prefault('Restricted')
    .describe('What browsers show when they prompt for a password.'),
  mode: choice('Strict', 'Optional')
    .prefault('Strict')
    .describe('Strict: a known user or 401. Optional: no credentials are fine, bad ones are 401.'),
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
  .describe('Accepts users with passwords; the name is `basicAuth.username` in expressions.')

export type BasicAuth = z.output<typeof basicAuth>
