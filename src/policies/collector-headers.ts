import * as z from 'zod'
import { type SecretRef, secretText } from '../model/secret.ts'
import { secret } from './materials.ts'
import { headerName } from './scalars.ts'
import { isFieldValue } from './value-text.ts'

/** Of each request to the collector; values are credentials as a rule. */
export const collectorHeaders = () =>
  z
    .record(headerName(), secret())
    .optional()
    .describe(
      'Headers of requests to the collector, by name: a string or `{file}` each. Values are never shown.',
    )

/** One whose text is not known, or cannot be sent, is left out: the collector rejects what it gets. */
export function headerTexts(
  headers: Readonly<Record<string, SecretRef>> = {},
): Readonly<Record<string, string>> {
  const texts = Object.entries(headers).flatMap(([name, ref]) => {
    const text = secretText(ref)?.trim()
    return text !== undefined && isFieldValue(text) ? [[name.toLowerCase(), text] as const] : []
  })
  return Object.fromEntries(texts)
}
