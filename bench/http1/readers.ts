import { HTTPParser } from 'node:_http_common'
import { IS_TOKEN } from '../../src/wire/http1/ascii.ts'
import { joinedValue } from '../../src/wire/http1/fields.ts'
import { RequestHead, readRequestHead } from '../../src/wire/http1/head.ts'
import { HEAD_LIMITS } from '../../src/wire/http1/message.ts'

/*
 * Ways to read a head. Each looks at every byte, as a strict reader must, and returns the total
 * length of the path, the host and one field, so that all of them create these three strings.
 */
export type Reader = (bytes: Buffer) => number

const head = new RequestHead()

export function ours(bytes: Buffer): number {
  if (readRequestHead(bytes, 0, bytes.length, HEAD_LIMITS, head) <= 0) throw new Error('refused')
  return head.path.length + head.host.length + (joinedValue(head.fields, 'x-env') ?? '').length
}

/** Decodes the whole head first, then uses string functions only. */
export function textFirst(bytes: Buffer): number {
  const text = bytes.toString('latin1')
  const line = text.indexOf('\r\n')
  const target = text.indexOf(' ') + 1
  const path = text.substring(target, text.indexOf('?', target))
  let found = 0
  let at = line + 2
  for (;;) {
    const end = text.indexOf('\r\n', at)
    if (end === at) return found + path.length
    const colon = text.indexOf(':', at)
    for (let i = at; i < colon; i++) if (IS_TOKEN[text.charCodeAt(i)] !== 1) throw new Error('name')
    for (let i = colon + 1; i < end; i++) {
      const code = text.charCodeAt(i)
      if (code < 32 ? code !== 9 : code === 127) throw new Error('value')
    }
    const name = text.substring(at, colon).toLowerCase()
    if (name === 'host' || name === 'x-env') found += text.substring(colon + 2, end).length
    at = end + 2
  }
}

const LINE = /([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)\r\n/y

/** Decodes the whole head first, then applies a regular expression to each line. */
export function patterns(bytes: Buffer): number {
  const text = bytes.toString('latin1')
  const target = text.indexOf(' ') + 1
  let found = text.substring(target, text.indexOf('?', target)).length
  LINE.lastIndex = text.indexOf('\r\n') + 2
  for (let line = LINE.exec(text); line !== null; line = LINE.exec(text)) {
    const name = line[1]?.toLowerCase()
    if (name === 'host' || name === 'x-env') found += line[2]?.length ?? 0
  }
  return found
}

const offsets = new Int32Array(400)

/** Scans byte by byte and decodes each string on demand. */
export function decodedOnDemand(bytes: Buffer): number {
  const target = bytes.indexOf(32) + 1
  let count = 0
  let at = bytes.indexOf(13) + 2
  while (bytes[at] !== 13) {
    offsets[count] = at
    while (IS_TOKEN[bytes[at] as number] === 1) at++
    offsets[count + 1] = at
    at++
    for (;;) {
      const byte = bytes[at] as number
      if (byte < 32 ? byte !== 9 : byte === 127) break
      at++
    }
    offsets[count + 2] = at
    count += 3
    at += 2
  }
  let found = bytes.toString('latin1', target, bytes.indexOf(63, target)).length
  for (let i = 0; i < count; i += 3) {
    const from = offsets[i] as number
    const to = offsets[i + 1] as number
    const isWanted = isName(bytes, from, to, 'host') || isName(bytes, from, to, 'x-env')
    if (isWanted) found += bytes.toString('latin1', to + 2, offsets[i + 2]).length
  }
  return found
}

function isName(bytes: Buffer, from: number, to: number, name: string): boolean {
  if (to - from !== name.length) return false
  for (let i = 0; i < name.length; i++) {
    if (((bytes[from + i] as number) | 0x20) !== name.charCodeAt(i)) return false
  }
  return true
}

/** llhttp as Node's HTTP server uses it: in C, with names and values as an array of strings. */
export function nodeLlhttp(): Reader {
  const parser = new HTTPParser()
  let found = 0
  parser.initialize(HTTPParser.REQUEST, {})
  parser[HTTPParser.kOnHeadersComplete | 0] = (
    _major: number,
    _minor: number,
    headers: readonly string[],
    _method: number,
    url: string,
  ) => {
    found = url.indexOf('?')
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i]?.toLowerCase()
      if (name === 'host' || name === 'x-env') found += headers[i + 1]?.length ?? 0
    }
    return 0
  }
  return (bytes) => {
    parser.execute(bytes)
    return found
  }
}
