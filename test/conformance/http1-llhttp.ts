import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BodyReader, beginBody, readBody } from '../../src/wire/http1/body.ts'
import { RequestHead, readRequestHead } from '../../src/wire/http1/head.ts'
import { HEAD_LIMITS } from '../../src/wire/http1/message.ts'
import { rejectionOf } from '../../src/wire/http1/rejections.ts'

export interface Case {
  /** The file and the number of the case in it. */
  readonly name: string
  /** The heading of the case. */
  readonly title: string
  /** `request`, or the name of the lenient mode. */
  readonly mode: string
  readonly stream: Buffer
  /** The outcome in llhttp, in the format of `outcomeOf`. */
  readonly expected: string
}

/**
 * Reads the streams of llhttp's own request tests with their outcomes. llhttp's licence applies:
 * test/data/llhttp/LICENSE.
 */
export function readCorpus(): readonly Case[] {
  const file = join(import.meta.dirname, '../data/llhttp/requests.json')
  const cases: readonly (Omit<Case, 'stream'> & { readonly stream: string })[] = JSON.parse(
    readFileSync(file, 'utf8'),
  )
  return cases.map((own) => ({ ...own, stream: Buffer.from(own.stream, 'latin1') }))
}

/** Returns how many requests were complete, and what followed them. */
export function outcomeOf(stream: Buffer): { outcome: string; word: string } {
  const head = new RequestHead()
  const body = new BodyReader()
  let bytes = stream
  let at = 0
  for (let whole = 0; ; whole++) {
    // A line ending after the last request does not begin another request.
    if (/^(\r\n)?$/.test(bytes.toString('latin1', at))) return { outcome: `${whole}`, word: '' }
    if (whole > 0 && !head.keepAlive) return { outcome: `${whole}, then closed`, word: '' }
    let next = readRequestHead(bytes, at, bytes.length, HEAD_LIMITS, head)
    if (next < 0) {
      bytes = fixed(bytes, at)
      next = readRequestHead(bytes, at, bytes.length, HEAD_LIMITS, head)
    }
    if (next > 0) {
      beginBody(body, head.framing, head.length)
      while (next >= 0 && next < bytes.length && !body.isDone) {
        next = readBody(body, bytes, next, bytes.length)
      }
    }
    if (next < 0) return { outcome: `${whole}, then refused`, word: rejectionOf(next).word }
    if (next === 0 || !body.isDone) return { outcome: `${whole}, then waits`, word: '' }
    if (head.upgrade !== '' || head.form === 'authority') {
      return { outcome: `${whole + 1}, then upgraded`, word: '' }
    }
    at = next
  }
}

/**
 * Most of the corpus has no Host field or has a fragment in the target, both of which the gateway
 * rejects. The cases test something else, so these two differences are removed.
 */
function fixed(bytes: Buffer, from: number): Buffer {
  const text = bytes
    .toString('latin1', from)
    .replace(/^([A-Z]+ [^\s#]*)#\S*( HTTP)/, '$1$2')
    .replace(
      /^(\s*[A-Z]+ (?:https?:\/\/)?([^/?\s]*)\S* HTTP\/1\.1\r\n)(?!(?:\S.*\r\n)*host:)/i,
      (_, line, host) => {
        return `${line}Host: ${host.replace('*', '') || 'example.com'}\r\n`
      },
    )
  return Buffer.concat([bytes.subarray(0, from), Buffer.from(text, 'latin1')])
}
