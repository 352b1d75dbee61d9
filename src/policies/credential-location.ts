import * as z from 'zod'
import { expression, headerName } from './scalars.ts'
import { oneOfKeys } from './shapes.ts'

export type CredentialLocation =
  | {
      readonly kind: 'header'
      readonly name: string
      readonly prefix: string
      /** Headers that may contain the credential instead, without a prefix. */
      readonly alsoIn?: readonly string[]
    }
  | { readonly kind: 'queryParameter'; readonly name: string }
  | { readonly kind: 'cookie'; readonly name: string }
  | { readonly kind: 'expression'; readonly expression: string }

const token = () =>
  z
    .string()
    .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/)
    .max(256)

/** A location where a credential can be sent. */
export type SentLocation = Exclude<CredentialLocation, { kind: 'expression' }>

const PLACES = {
  header: z
    .strictObject({
      name: headerName().describe('The name of the header.'),
      prefix: z.string().max(64).prefault('').describe('The prefix of the credential.'),
    })
    .optional()
    .describe('In a header.'),
  queryParameter: z
    .strictObject({ name: z.string().min(1).max(256).describe('The name of the query parameter.') })
    .optional()
    .describe('In a query parameter.'),
  cookie: z
    .strictObject({ name: token().describe('The name of the cookie.') })
    .optional()
    .describe('In a cookie.'),
}

const location = oneOfKeys(
  z.strictObject({
    ...PLACES,
    expression: expression('string')
      .optional()
      .describe('A CEL expression that returns the credential.'),
  }),
  ['header', 'queryParameter', 'cookie', 'expression'],
)
  .transform(
    ({ expression, ...places }): CredentialLocation =>
      expression === undefined ? placeAmong(places) : { kind: 'expression', expression },
  )
  .meta({ id: 'credential-location' })

const sent = oneOfKeys(z.strictObject(PLACES), ['header', 'queryParameter', 'cookie'])
  .transform(placeAmong)
  .meta({ id: 'sent-credential-location' })

/** Where to put the credential in a request to a backend. */
export const sentLocation = () => sent.describe('Where to put the credential.')

interface Places {
  readonly header?: { readonly name: string; readonly prefix: string } | undefined
  readonly queryParameter?: { readonly name: string } | undefined
  readonly cookie?: { readonly name: string } | undefined
}

function placeAmong({ header, queryParameter, cookie }: Places): SentLocation {
  if (header !== undefined) {
    return { kind: 'header', name: header.name.toLowerCase(), prefix: header.prefix }
  }
  if (queryParameter !== undefined) return { kind: 'queryParameter', name: queryParameter.name }
  return { kind: 'cookie', name: cookie?.name ?? '' }
}

/** Where the credential is in a request; by default, after `prefix` in Authorization. */
export const credentialLocation = (prefix: string) =>
  location
    .prefault({ header: { name: 'authorization', prefix } })
    .describe(
      `Where to find the credential. By default, in the Authorization header, after \`${prefix}\`.`,
    )
