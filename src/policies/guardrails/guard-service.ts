import { readJson } from '../../cel/values/json-read.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import type { CallService } from '../../exchange/service-call.ts'
import type { CallWebhook } from '../../exchange/webhook.ts'
import type { FindHeader } from '../service-credential.ts'

/* Shared parts of guards that are external services: they return a yes/no verdict. */

interface Failed {
  readonly detail: string
}

export type Judge = (
  exchange: Exchange,
  phase: 'request' | 'response',
  texts: readonly string[],
) => Promise<'passed' | 'rejected' | Failed>

const MAX_RESPONSE = 1024 * 1024

/** Whitespace-only texts are not sent: services reject them as empty. */
export function judgeTexts(judge: Judge): CallWebhook {
  return async (exchange, phase, messages) => {
    const texts = messages.map(({ content }) => content).filter((text) => text.trim() !== '')
    if (texts.length === 0) return { kind: 'passed' }
    const verdict = await judge(exchange, phase, texts)
    return typeof verdict === 'string' ? { kind: verdict } : { kind: 'failed', ...verdict }
  }
}

type Call = (
  exchange: Exchange,
  path: string,
  body: object,
) => Promise<{ readonly body: object } | Failed>

/** Posts JSON and expects an object; anything else is a failure. */
export function serviceCaller(ask: CallService, credential: FindHeader, timeout: number): Call {
  return async (exchange, path, body) => {
    const header = await credential(exchange)
    if ('detail' in header) return header
    const response = await ask(exchange, {
      method: 'POST',
      path,
      authority: '',
      headers: [['content-type', 'application/json'], ['accept', 'application/json'], header],
      body: Buffer.from(JSON.stringify(body)),
      timeout,
      maxBytes: MAX_RESPONSE,
    })
    if ('failure' in response) return { detail: response.failure }
    if (response.status !== 200) return { detail: `status ${response.status}` }
    const value = readJson(Buffer.from(response.body).toString('utf8'), { duplicates: 'reject' })
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? { body: value } : { detail: 'the response is not a JSON object' }
  }
}
