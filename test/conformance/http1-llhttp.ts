import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BodyReader, beginBody, readBody } from '../../src/wire/http1/body.ts'
import { RequestHead, readRequestHead } from '../../src/wire/http1/head.ts'
import { HEAD_LIMITS } from '../../src/wire/http1/message.ts'
import { rejectionOf } from '../../src/wire/http1/rejections.ts'

export interface Case {
  /** File and number in it. */
  readonly name: string
  /** The heading above. */
  readonly title: string
  /** `request`, or with the name of what is let pass. */
  readonly mode: string
  readonly stream: Buffer
  /** What llhttp makes of it, in the words of `outcomeOf`. */
  readonly expected: string
}

/**
 * The streams of llhttp's own tests of requests with what it makes of them, under its licence:
 * test/data/llhttp/LICENSE.
 */
export function readCorpus(): readonly Case[] {
  const file = join(import.meta.dirname, '../data/llhttp/requests.json')
  const cases: readonly (Omit<Case, 'stream'> & { readonly stream: string })[] = JSON.parse(
    readFileSync(file, 'utf8'),
  )
  return cases.map((own) => ({ ...own, stream: Buffer.from(own.stream, 'latin1') }))
}

/** How many requests were whole here, and what came then. */
export function outcomeOf(stream: Buffer): { outcome: string; word: string } {
  const head = new RequestHead()
  const body = new BodyReader()
  let bytes = stream
  let at = 0
  for (let whole = 0; ; whole++) {
    // A line end behind the last request begins no other.
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
 * Most of the corpus has neither Host nor a target without fragment, both of which we reject; the
 * cases are about something else, so these two differences are taken out of the way.
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
