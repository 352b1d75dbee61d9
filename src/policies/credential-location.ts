import * as z from 'zod'
import { expression, headerName } from './scalars.ts'
import { oneOfKeys } from './shapes.ts'

export type CredentialLocation =
  | { readonly kind: 'header'; readonly name: string; readonly prefix: string }
  | { readonly kind: 'queryParameter'; readonly name: string }
  | { readonly kind: 'cookie'; readonly name: string }
  | { readonly kind: 'expression'; readonly expression: string }

const token = () =>
  z
    .string()
    .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/)
    .max(256)

const location = oneOfKeys(
  z.strictObject({
    header: z
      .strictObject({
        name: headerName().describe('The name of the header.'),
        prefix: z.string().max(64).prefault('').describe('What stands before the credential.'),
      })
      .optional()
      .describe('In a header.'),
    queryParameter: z
      .strictObject({ name: z.string().min(1).max(256).describe('The name of the parameter.') })
      .optional()
      .describe('In the query.'),
    cookie: z
      .strictObject({ name: token().describe('The name of the cookie.') })
      .optional()
      .describe('In a cookie.'),
    expression: expression('string').optional().describe('Wherever the expression finds it.'),
  }),
  ['header', 'queryParameter', 'cookie', 'expression'],
)
  .transform(({ header, queryParameter, cookie, expression }): CredentialLocation => {
    if (header !== undefined) {
      return { kind: 'header', name: header.name.toLowerCase(), prefix: header.prefix }
    }
    if (queryParameter !== undefined) return { kind: 'queryParameter', name: queryParameter.name }
    if (cookie !== undefined) return { kind: 'cookie', name: cookie.name }
    return { kind: 'expression', expression: expression as string }
  })
  .meta({ id: 'credential-location' })

/** Where in a request the credential stands; without a word, behind `prefix` in Authorization. */
export const credentialLocation = (prefix: string) =>
  location
    .prefault({ header: { name: 'authorization', prefix } })
    .describe(`Where the credential stands; the Authorization header behind \`${prefix}\`.`)
