import { isUtf8 } from 'node:buffer'

/*
 * Header values are text everywhere in the gateway, and bytes only on the wire, where heads are
 * strings with one character for each byte. These functions are the only way between them.
 */

const BEYOND_ASCII = /[\x80-\uffff]/

export function isAscii(text: string): boolean {
  return !BEYOND_ASCII.test(text)
}

/** Bytes that are valid UTF-8 are read as such, others as Latin-1. */
export function headerText(bytes: string): string {
  if (isAscii(bytes)) return bytes
  const sent = Buffer.from(bytes, 'latin1')
  return isUtf8(sent) ? sent.toString('utf8') : bytes
}

/** The UTF-8 bytes of a value for which `isHeaderValue` is true. */
export function headerBytes(text: string): string {
  return isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1')
}
