import * as z from 'zod'
import { type SecretRef, secretText } from '../model/secret.ts'
import { secret } from './materials.ts'
import { headerName } from './scalars.ts'
import { isFieldValue } from './value-text.ts'

/** Headers of each request to the collector; their values are usually credentials. */
export const collectorHeaders = () =>
  z
    .record(headerName(), secret())
    .optional()
    .describe(
      'Headers of requests to the collector, by name: a string or `{file}` each. Values are never shown.',
    )

/**
 * Omits headers whose value is unknown or cannot be sent: the collector then rejects the requests.
 */
export function headerTexts(
  headers: Readonly<Record<string, SecretRef>> = {},
): Readonly<Record<string, string>> {
  const texts = Object.entries(headers).flatMap(([name, ref]) => {
    const text = secretText(ref)?.trim()
    const isSent = text !== undefined && isFieldValue(text) && !/[^\0-\xff]/.test(text)
    return isSent ? [[name.toLowerCase(), text] as const] : []
  })
  return Object.fromEntries(texts)
}
