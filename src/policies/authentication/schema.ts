import * as z from 'zod'
import { choice } from '../scalars.ts'
import { aliased, issue, oneOfKeys } from '../shapes.ts'

/** The kinds of authentication of which one is enough. */
export const MEMBERS = ['jwtAuthentication', 'apiKey', 'basicAuth'] as const

export type MemberKind = (typeof MEMBERS)[number]

export interface Member {
  readonly kind: MemberKind
  readonly value: unknown
}

/** Several authentication methods, each with its own schema. */
export function authenticationOf(schemas: Readonly<Record<MemberKind, z.ZodType>>) {
  const shape = {
    jwtAuthentication: schemas.jwtAuthentication.optional(),
    apiKey: schemas.apiKey.optional(),
    basicAuth: schemas.basicAuth.optional(),
  }
  const member = oneOfKeys(
    aliased(shape, {
      jwtAuth: 'jwtAuthentication',
      apiKeyAuthentication: 'apiKey',
      basicAuthentication: 'basicAuth',
    }),
    [...MEMBERS],
  )
    .check(({ value, issues }) => {
      const { resourceMetadata } = (value.jwtAuthentication ?? {}) as { resourceMetadata?: unknown }
      if (resourceMetadata !== undefined) {
        const message = '`resourceMetadata` is not supported inside `anyOf`'
        const hint = 'set `jwtAuthentication` next to `authentication` instead'
        const at = ['jwtAuthentication', 'resourceMetadata']
        issues.push(issue(value, message, { rule: 'unsupported', hint }, at))
      }
      for (const kind of MEMBERS) {
        const { mode = 'Strict' } = (value[kind] ?? {}) as { readonly mode?: string }
        if (mode === 'Strict') continue
        const message = '`mode` cannot be set on individual entries'
        const hint = 'set `mode` on `authentication` instead'
        issues.push(issue(value, message, { rule: 'excludes', hint }, [kind, 'mode']))
      }
    })
    .transform((value): Member => {
      const kind = MEMBERS.find((own) => value[own] !== undefined) as MemberKind
      return { kind, value: value[kind] }
    })
  return z
    .strictObject({
      mode: choice('Strict', 'Optional', 'Permissive')
        .prefault('Strict')
        .describe(
          'Strict: requests without a valid credential get 401. Optional: credentials are not required, but requests with only invalid ones get 401. ' +
            'Permissive: invalid credentials are ignored.',
        ),
      anyOf: z
        .array(member)
        .min(1)
        .max(16)
        .describe('Authentication methods, tried in this order. One valid credential is enough.'),
    })
    .describe('Accepts any of several credentials, such as a JWT or an API key.')
}

export type Authentication = z.output<ReturnType<typeof authenticationOf>>
