import * as z from 'zod'
import type { Material } from '../../model/material.ts'
import { credentialLocation } from '../credential-location.ts'
import { file } from '../materials.ts'
import { choice, duration, url } from '../scalars.ts'
import { issue, oneOfKeys } from '../shapes.ts'
import { readKeySet } from './key-set.ts'

export type KeySet =
  | { readonly kind: 'local'; readonly keys: Material }
  | { readonly kind: 'remote'; readonly url: string; readonly cacheDuration: number }

const HINT = 'write {"keys": [{"kty": "RSA", "kid": "…", "n": "…", "e": "AQAB"}]}'

const keyText = () =>
  z
    .string()
    .max(1_048_576)
    .meta({ title: 'JSON Web Key Set' })
    .check(({ value, issues }) => {
      const problem = keySetProblem(value)
      if (problem !== undefined) {
        const message = `this is not a JSON Web Key Set: ${problem}`
        issues.push(issue(value, message, { rule: 'malformed', hint: HINT }))
      }
    })

/** Tokens would all be refused, and nobody could tell why. */
const keyFile = () =>
  file((text) => {
    const problem = keySetProblem(text)
    const message = `the file is not a JSON Web Key Set: ${problem}`
    return problem === undefined ? undefined : { message, hint: `${HINT} in it` }
  })

/** Only the outline: each key is judged when it is imported. */
function keySetProblem(text: string): string | undefined {
  const written = readKeySet(text)
  if (typeof written === 'string') return written
  const isKey = (key: unknown) => typeof (key as { kty?: unknown } | null)?.kty === 'string'
  return written.every(isKey) ? undefined : 'a key of it has no `kty`'
}

const keys = z
  .union([
    keyText(),
    oneOfKeys(
      z.strictObject({
        inline: keyText().optional().describe('The key set as JSON text.'),
        file: keyFile().optional().describe('The path of a file with the key set.'),
        url: url().optional().describe('Where to fetch the key set.'),
        cacheDuration: duration()
          .prefault('15m')
          .describe('How long a fetched key set is fresh. With `url`.'),
      }),
      ['inline', 'file', 'url'],
    ),
  ])
  .transform((value): KeySet => {
    if (typeof value === 'string') return { kind: 'local', keys: { text: value } }
    const { inline, file, url, cacheDuration } = value
    if (inline !== undefined) return { kind: 'local', keys: { text: inline } }
    if (file !== undefined) return { kind: 'local', keys: file }
    return { kind: 'remote', url: url as string, cacheDuration }
  })
  .meta({ id: 'key-set' })

const keySet = () => keys.describe('The keys: `inline`, `file`, `url`, or the JSON text itself.')

const issuer = () => z.string().min(1).max(2048).describe('The `iss` that tokens must carry.')

const audiences = () =>
  z
    .array(z.string().min(1).max(2048))
    .max(64)
    .describe('One of these must be in `aud`; none: any audience.')

const validation = () =>
  z
    .strictObject({
      requiredClaims: z
        .array(z.string().min(1).max(256))
        .max(64)
        .prefault([])
        .describe('Claims that must be there. `exp` and `iss` always must.'),
    })
    .describe('What else a token must have.')

const leeway = () => duration().describe('How far clocks may differ; not at all by default.')

const provider = z.strictObject({
  issuer: issuer(),
  jwks: keySet(),
  audiences: audiences().optional(),
  jwtValidationOptions: validation().optional(),
  leeway: leeway().optional(),
})

export const jwtAuthentication = z
  .strictObject({
    mode: choice('Strict', 'Optional', 'Permissive')
      .prefault('Strict')
      .describe(
        'Strict: a valid token or 401. Optional: none is fine, a bad one is 401. Permissive: a ' +
          'bad one is ignored.',
      ),
    location: credentialLocation('Bearer '),
    forward: z
      .boolean()
      .prefault(false)
      .describe('Whether the backend gets the token too; else it is removed.'),
    providers: z
      .array(provider)
      .min(1)
      .max(64)
      .optional()
      .describe('The accepted issuers; the issuer of a token picks the entry.'),
    // One provider may be written without the list.
    issuer: issuer().optional(),
    jwks: keySet().optional(),
    audiences: audiences().optional(),
    jwtValidationOptions: validation().optional(),
    leeway: leeway().optional(),
  })
  .check(({ value, issues }) => {
    const { providers, issuer, jwks } = value
    if (providers !== undefined) {
      const other = ONE_PROVIDER.find((key) => value[key] !== undefined)
      if (other === undefined) return
      const message = `\`providers\` and \`${other}\` exclude each other`
      const hint = `move \`${other}\` into an entry of \`providers\``
      issues.push(issue(value, message, { rule: 'excludes', hint }, [other]))
    } else if (issuer === undefined || jwks === undefined) {
      const hint = 'list `providers`, each with `issuer` and `jwks`'
      const missing = issuer === jwks ? '`providers`' : issuer === undefined ? '`issuer`' : '`jwks`'
      issues.push(issue(value, `${missing} is missing`, { rule: 'missing', hint }))
    }
  })
  .transform(({ mode, location, forward, providers, issuer, jwks, ...rest }) => ({
    mode,
    location,
    forward,
    providers: (providers ?? [{ issuer: issuer as string, jwks: jwks as KeySet, ...rest }]).map(
      toProvider,
    ),
  }))
  .describe('Verifies JSON Web Tokens; the claims are `jwt` in expressions.')

const ONE_PROVIDER = ['issuer', 'jwks', 'audiences', 'jwtValidationOptions', 'leeway'] as const

export type JwtAuthentication = z.output<typeof jwtAuthentication>

function toProvider({
  issuer,
  jwks,
  audiences = [],
  jwtValidationOptions,
  leeway = 0,
}: z.output<typeof provider>) {
  const requiredClaims = jwtValidationOptions?.requiredClaims ?? []
  return { issuer, jwks, audiences, requiredClaims, leeway }
}
