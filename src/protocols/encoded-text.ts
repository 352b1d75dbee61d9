import { isUtf8 } from 'node:buffer'

/** Text in a member for data, and how the member is written with another text. */
export interface EncodedText {
  readonly text: string
  readonly encode: (text: string) => string
}

/** Bytes that are enough to see that data is no text. */
const SAMPLE = 4096

const BASE64 = /^[\w+/\s-]+={0,2}\s*$/
const TEXT_TYPE =
  /^(?:text\/|application\/(?:[\w.-]*\+)?(?:json|xml|yaml|x-yaml|javascript|sql|toml|csv|markdown))/i
/** As many characters as there are in bytes that can be sampled. */
const SAMPLED = (SAMPLE / 3) * 4

/**
 * Reads base64 as text, whatever it is declared as: a model gets what the data is. Returns
 * `undefined` if it is not base64, and `binary` if it is no text.
 */
export function encodedTextOf(data: string, mediaType = ''): EncodedText | 'binary' | undefined {
  const isDeclared = TEXT_TYPE.test(mediaType)
  if (!BASE64.test(data.slice(0, SAMPLED))) return undefined
  const sample = Buffer.from(data.slice(0, SAMPLED), 'base64')
  if (!isDeclared && !mayBeText(sample)) return 'binary'
  if (!BASE64.test(data)) return undefined
  const bytes = Buffer.from(data, 'base64')
  const text = decode(bytes, isDeclared)
  if (text === undefined) return 'binary'
  return { text, encode: (own) => Buffer.from(own, 'utf8').toString('base64') }
}

/** A sample may end within a character. */
function mayBeText(sample: Buffer): boolean {
  if (utf16Of(sample) !== undefined) return true
  if (sample.includes(0)) return false
  return [0, 1, 2, 3].some((cut) => isUtf8(sample.subarray(0, sample.length - cut)))
}

function decode(bytes: Buffer, isDeclared: boolean): string | undefined {
  const utf16 = utf16Of(bytes)
  if (utf16 !== undefined) return new TextDecoder(utf16).decode(bytes)
  if (isUtf8(bytes) && (isDeclared || !bytes.includes(0))) return bytes.toString('utf8')
  return isDeclared ? bytes.toString('latin1') : undefined
}

function utf16Of(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : undefined
}

const DATA_URL = /^data:([^,;]*)((?:;[^,;]*)*),/i

/** The same for a URL with its data in it; `undefined` for every other text. */
export function dataUrlText(url: string): EncodedText | 'binary' | undefined {
  const match = /^data:/i.test(url) ? DATA_URL.exec(url.slice(0, 1024)) : null
  if (match === null) return undefined
  const [head, mediaType = '', parameters = ''] = match
  const data = url.slice(head.length)
  if (/;base64$/i.test(parameters)) {
    const encoded = encodedTextOf(data, mediaType)
    if (encoded === undefined || encoded === 'binary') return encoded
    return { text: encoded.text, encode: (own) => `${head}${encoded.encode(own)}` }
  }
  return {
    text: percentDecoded(data),
    encode: (own) => `${head}${encodeURIComponent(own)}`,
  }
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return Buffer.from(
      text.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
      'latin1',
    ).toString('utf8')
  }
}
