import { readFile } from 'node:fs/promises'
import type { Exchange } from '../exchange/exchange.ts'
import type { CallService, ServiceRequest } from '../exchange/service-call.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { CompileContext } from './define.ts'
import type { NoCredential } from './kept-credential.ts'
import { parseHost } from './target.ts'

/* Fetches credentials from their provider: a cloud, a container platform, a machine. */

export type Environment = Readonly<Record<string, string | undefined>>

/** Undefined: the string is not the origin of a URL. */
export type Connect = (origin: string) => CallService | undefined

export type CredentialQuestion = Pick<ServiceRequest, 'method' | 'path' | 'headers' | 'body'>

const MAX_BYTES = 65_536

export const NO_BODY = new Uint8Array()

export const FORM = [
  ['content-type', 'application/x-www-form-urlencoded'],
  ['accept', 'application/json'],
] as const

export function connectorOf(policy: ValidPolicy, context: CompileContext): Connect {
  return (origin) => {
    const target = parseHost(origin)
    return target === undefined ? undefined : context.connect(target, policy, '1.1')
  }
}

/** The body of a response with status 200; otherwise the failure, described with `what`. */
export async function fetchText(
  exchange: Exchange,
  ask: CallService,
  question: CredentialQuestion,
  { what, timeout }: { readonly what: string; readonly timeout: number },
): Promise<string | NoCredential> {
  const response = await ask(exchange, { ...question, authority: '', timeout, maxBytes: MAX_BYTES })
  if ('failure' in response) return { detail: `${what}: ${response.failure}` }
  if (response.status !== 200) return { detail: `${what}: status ${response.status}` }
  return Buffer.from(response.body).toString('utf8')
}

/** The trimmed content; empty if the file cannot be read. */
export function trimmedFile(file: string): Promise<string> {
  return readFile(file, 'utf8').then(
    (text) => text.trim(),
    () => '',
  )
}
