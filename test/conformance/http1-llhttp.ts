import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { BodyReader, beginBody, readBody } from '../../src/wire/http1/body.ts'
import { RequestHead, readRequestHead } from '../../src/wire/http1/head.ts'
import { HEAD_LIMITS } from '../../src/wire/http1/message.ts'
import { refusalOf } from '../../src/wire/http1/refusals.ts'

/** Where llhttp's own test data may lie: its request corpus, Markdown with a stream in each case. */
const PLACES = ['../data/llhttp/request', '../../../shared/data/llhttp/request']

export const CORPUS: string | undefined = PLACES.map((place) =>
  join(import.meta.dirname, place),
).find(existsSync)

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

export function readCorpus(folder: string): readonly Case[] {
  return globSync('*.md', { cwd: folder })
    .sort()
    .flatMap((file) => readCases(basename(file, '.md'), readFileSync(join(folder, file), 'utf8')))
}

function readCases(file: string, text: string): readonly Case[] {
  // What follows needs no body even where a length says so: a mode of llhttp's that we do not have.
  const cases = text.replaceAll(/<!-- meta=\{[^}]*"skipBody": true\} -->/g, '')
  const pattern = /<!--\s*meta=(\{.*?\})\s*-->\s*```http\n(.*?)```.*?```log\n(.*?)```/gs
  return [...cases.matchAll(pattern)].map(
    ({ index, 1: meta = '', 2: http = '', 3: log = '' }, i) => {
      return {
        name: `${file} ${i + 1}`,
        title: /.*^#+ (.*?)$/ms.exec(cases.slice(0, index))?.[1] ?? '',
        mode: JSON.parse(meta).type,
        stream: Buffer.from(unescaped(http), 'utf8'),
        expected: outcomeOfLog(log),
      }
    },
  )
}

/** The corpus has every line end as CR LF but those that are escaped. */
function unescaped(http: string): string {
  return http
    .replace(/\n$/, '')
    .replaceAll(/\\\n/g, '')
    .replaceAll('\n', '\r\n')
    .replaceAll('\\r', '\r')
    .replaceAll('\\n', '\n')
    .replaceAll('\\t', '\t')
    .replaceAll('\\f', '\f')
    .replaceAll(/\\x([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
}

const AFTER_CLOSE = '5'
const UPGRADED = '22'

/** How many requests were whole, and what came then. */
function outcomeOfLog(log: string): string {
  const whole = [...log.matchAll(/ message complete$/gm)].length
  const error = /error code=(\d+)/.exec(log)?.[1]
  if (error === AFTER_CLOSE) return `${whole}, then closed`
  if (error === UPGRADED) return `${whole}, then upgraded`
  if (error !== undefined) return `${whole}, then refused`
  const begun = [...log.matchAll(/ message begin$/gm)].length
  return begun > whole ? `${whole}, then waits` : `${whole}`
}

/** The same of ours. */
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
      bytes = mended(bytes, at)
      next = readRequestHead(bytes, at, bytes.length, HEAD_LIMITS, head)
    }
    if (next > 0) {
      beginBody(body, head.framing, head.length)
      while (next >= 0 && next < bytes.length && !body.isDone) {
        next = readBody(body, bytes, next, bytes.length)
      }
    }
    if (next < 0) return { outcome: `${whole}, then refused`, word: refusalOf(next).word }
    if (next === 0 || !body.isDone) return { outcome: `${whole}, then waits`, word: '' }
    if (head.upgrade !== '' || head.form === 'authority') {
      return { outcome: `${whole + 1}, then upgraded`, word: '' }
    }
    at = next
  }
}

/**
 * Most of the corpus has neither Host nor a target without fragment, both of which we refuse; the
 * cases are about something else, so these two differences are taken out of the way.
 */
function mended(bytes: Buffer, from: number): Buffer {
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
