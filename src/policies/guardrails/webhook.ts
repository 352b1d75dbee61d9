import { readJson } from '../../cel/values/json-read.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { givenHeader } from '../../exchange/forwarded-headers.ts'
import type { ServiceResponse } from '../../exchange/service-call.ts'
import type { CallWebhook, GuardedMessage, WebhookVerdict } from '../../exchange/webhook.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { type CompileContext, variablesOf } from '../define.ts'
import { type Header, isFit } from '../service-headers.ts'
import { textOf } from '../value-text.ts'
import type { Webhook } from './schema.ts'

/*
 * The protocol of guardrail webhooks for other gateways, which therefore work unchanged:
 *
 *   POST /request   {"body": {"messages": [{"role", "content"}]}}
 *   POST /response  {"body": {"choices": [{"message": {"role", "content"}}]}}
 *
 * The response is {"action": …}. Without a `body`, the message passes. An object of the same shape
 * replaces the texts. A string rejects the message, with `status_code`. Anything else is a failure.
 */

/** Masked texts may be longer than the originals. */
const MAX_RESPONSE = 16 * 1024 * 1024

export function compileWebhook(
  { target, path, timeout, includeRequestHeaders, headers }: Webhook,
  policy: ValidPolicy,
  context: CompileContext,
  field: string,
): CallWebhook {
  const ask = context.connect(target, policy, '1.1')
  const computed = Object.entries(headers).map(([name, text]) => {
    const at = `${field}.headers.${name}`
    const place = { policy, field: at, result: 'string', stage: 'llm' } as const
    return { name: name.toLowerCase(), evaluate: context.compile(text, place)?.evaluate() }
  })
  const names = includeRequestHeaders.map((name) => name.toLowerCase())
  return async (exchange, phase, messages) => {
    const own: Header[] = [
      ['content-type', 'application/json'],
      ['accept', 'application/json'],
    ]
    const variables = variablesOf(exchange)
    const said = new Map(
      computed.map(({ name, evaluate }) => [name, textOf(evaluate?.(variables))] as const),
    )
    const further = [...said].filter((pair): pair is [string, string] => {
      const [name, value] = pair
      return (
        value !== undefined && !name.startsWith(':') && !FRAMING.has(name) && isFit([name, value])
      )
    })
    const passed = headersOf(exchange, names).filter(([name]) => !said.has(name))
    const response = await ask(exchange, {
      method: 'POST',
      path: pathOf(said.get(':path')) ?? `${path}/${phase}`,
      authority: said.get(':authority') ?? '',
      headers: [...own, ...passed, ...further],
      body: Buffer.from(JSON.stringify({ body: bodyOf(phase, messages) })),
      timeout,
      maxBytes: MAX_RESPONSE,
    })
    if ('failure' in response) return failed(response.failure)
    return readVerdict(response, phase, messages.length)
  }
}

/** Whatever an expression computes must not break out of the request line. */
function pathOf(computed: string | undefined): string | undefined {
  return computed !== undefined && /^\/[!-~]*$/.test(computed) ? computed : undefined
}

const FRAMING: ReadonlySet<string> = new Set(['host', 'content-type', 'accept', 'content-length'])

function headersOf(exchange: Exchange, names: readonly string[]): readonly Header[] {
  return names.flatMap((name): Header[] => {
    const value = FRAMING.has(name) ? undefined : givenHeader(exchange, name)
    return value === undefined ? [] : [[name, value]]
  })
}

function bodyOf(phase: 'request' | 'response', messages: readonly GuardedMessage[]): object {
  if (phase === 'request') return { messages }
  return { choices: messages.map((message) => ({ message })) }
}

function readVerdict(
  { status, body }: ServiceResponse,
  phase: 'request' | 'response',
  count: number,
): WebhookVerdict {
  if (status !== 200) return failed(`status ${status}`)
  const value = readJson(Buffer.from(body).toString('utf8'), { duplicates: 'reject' })
  const action = memberOf(value, 'action')
  if (!isObject(action)) return failed('the response has no action')
  const said = memberOf(action, 'body')
  if (said === undefined || said === null) {
    // A status without a body would be a rejection that is misread as consent.
    return memberOf(action, 'status_code') === undefined
      ? { kind: 'passed' }
      : failed('the response has a status but no body')
  }
  if (typeof said === 'string') return rejected(said, memberOf(action, 'status_code'))
  const texts = phase === 'request' ? textsOf(said, 'messages') : textsOf(said, 'choices')
  if (texts === undefined) return failed('the response has no messages')
  return texts.length === count
    ? { kind: 'masked', texts }
    : failed('unexpected number of messages')
}

function rejected(message: string, status: unknown): WebhookVerdict {
  if (status === undefined || status === null) return { kind: 'rejected', message }
  const number = Number(status)
  // A rejection never has a success status, whatever the webhook sends.
  const isError = Number.isInteger(number) && number >= 400 && number <= 599
  return isError ? { kind: 'rejected', status: number, message } : { kind: 'rejected', message }
}

function textsOf(body: unknown, member: 'messages' | 'choices'): readonly string[] | undefined {
  const list = memberOf(body, member)
  if (!Array.isArray(list)) return undefined
  const texts: string[] = []
  for (const item of list) {
    const message = member === 'choices' ? memberOf(item, 'message') : item
    const content = memberOf(message, 'content')
    if (typeof content !== 'string') return undefined
    texts.push(content)
  }
  return texts
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function failed(detail: string): WebhookVerdict {
  return { kind: 'failed', detail }
}
