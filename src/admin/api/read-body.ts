import type { IncomingMessage } from 'node:http'
import { type ApiReply, problem } from './define.ts'

const MAX_BODY = 8 * 1024 * 1024
const MAX_DEPTH = 64

type ReadBody = { readonly value: unknown } | ApiReply

/** Reads the body as JSON, within limits that later processing relies on. */
export async function readJsonBody(request: IncomingMessage): Promise<ReadBody> {
  const read = await readTextBody(request, 'application/json')
  if ('status' in read) return read
  let value: unknown
  try {
    value = JSON.parse(read.value as string)
  } catch (error) {
    return problem(400, `the body is not JSON: ${(error as Error).message}`)
  }
  const wrong = shapeProblem(value)
  return wrong === undefined ? { value } : problem(400, wrong)
}

export async function readTextBody(request: IncomingMessage, type: string): Promise<ReadBody> {
  const [given = ''] = (request.headers['content-type'] ?? '').split(';')
  // A cross-origin form cannot send either type: a browser would need a preflight, which is denied.
  if (given.trim().toLowerCase() !== type) {
    return problem(415, `send the body as ${type}`, {}, { accept: type })
  }
  const pieces: Buffer[] = []
  let length = 0
  try {
    for await (const piece of request as AsyncIterable<Buffer>) {
      length += piece.length
      if (length > MAX_BODY) return problem(413, `the body is larger than ${MAX_BODY} bytes`)
      pieces.push(piece)
    }
  } catch {
    return problem(400, 'the body is incomplete')
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces))
    return { value: text }
  } catch {
    return problem(400, 'the body is not UTF-8')
  }
}

/** Without recursion, since a deep value would overflow the stack. */
function shapeProblem(value: unknown): string | undefined {
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue
    if (next.depth >= MAX_DEPTH) return `the body is nested more than ${MAX_DEPTH} levels deep`
    if (Object.hasOwn(next.value, '__proto__')) return '`__proto__` is not allowed as a key'
    for (const inner of Object.values(next.value))
      open.push({ value: inner, depth: next.depth + 1 })
  }
  return undefined
}
