import * as z from 'zod'
import { annotate, type CheckText } from './annotations.ts'
import { toSecretRef } from './materials.ts'
import { issue } from './shapes.ts'

const HINT =
  // biome-ignore lint/suspicious/noTemplateCurlyInString: literal configuration syntax
  'read it from a file with `key: { file: PATH }`, or from the environment with `key: ${NAME}`'

/** RFC 9110 §5.5; surrounding whitespace and line breaks are not part of the key. */
export function isSendable(key: string): boolean {
  return /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key)
}

const sendable: CheckText = (text) =>
  isSendable(text.trim())
    ? undefined
    : {
        message: 'the file does not contain a key that can be sent in a header',
        hint: 'the file must contain only the key, on one line, in ASCII',
      }

const plainKey = () =>
  annotate(z.string().min(1).max(8192), { is: 'credential', hint: HINT }).check(
    ({ value, issues }) => {
      if (isSendable(value.trim())) return
      const params = { rule: 'malformed', hint: 'a key must be a single line of ASCII' } as const
      issues.push(issue('', 'this key cannot be sent in a header', params))
    },
  )

const keyFile = () =>
  z.strictObject({
    file: annotate(z.string().min(1).max(4096).meta({ title: 'path' }), {
      is: 'path',
      check: sendable,
    }).describe('The path of a file that contains the key.'),
  })

/** A key: a string, or `{file}`; never shown. */
export const keyText = () => z.union([plainKey(), keyFile()]).transform(toSecretRef)

/** For a service that a policy itself calls. */
export const keyCredential = () =>
  z
    .strictObject({ key: keyText().describe('The key: a string or `{file}`.') })
    .describe('The credential to send to the service.')
