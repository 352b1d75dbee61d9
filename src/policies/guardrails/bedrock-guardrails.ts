import { readJson } from '../../cel/values/json-read.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import type { CallWebhook, WebhookVerdict } from '../../exchange/webhook.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { type FindAws, openAwsCredentials } from '../aws-credentials.ts'
import { writtenCredentials } from '../aws-keys.ts'
import type { CompileContext } from '../define.ts'
import { isNone } from '../kept-credential.ts'
import { signAws } from '../sigv4.ts'
import { type HostTarget, parseHost } from '../target.ts'
import type { BedrockGuardrails } from './service-schemas.ts'

const MAX_RESPONSE = 16 * 1024 * 1024

/**
 * `ApplyGuardrail`, with one request per text: a guardrail joins its output for several texts into
 * one. Masked content is returned as the text; blocked content is reported as such.
 */
export function compileBedrockGuardrails(
  value: BedrockGuardrails,
  policy: ValidPolicy,
  context: CompileContext,
): CallWebhook {
  const { guardrailIdentifier: id, guardrailVersion: version, region, timeout } = value
  const name = `bedrock-runtime.${region}.amazonaws.com`
  const target = value.host ?? (parseHost(`https://${name}`) as HostTarget)
  const ask = context.connect(target, policy, '1.1')
  const credentials = credentialsOf(value, policy, context)
  const path = `/guardrail/${encoded(id)}/version/${encoded(version)}/apply`
  const date = context.policyDeps.date ?? Date.now
  const apply = async (exchange: Exchange, source: string, text: string): Promise<Applied> => {
    const found = await credentials(exchange)
    if (isNone(found)) return failed(found.detail)
    const body = Buffer.from(JSON.stringify({ source, content: [{ text: { text } }] }))
    const own = [['content-type', 'application/json'] as const]
    const signed = signAws(
      { method: 'POST', path, headers: [['host', name], ...own], body },
      { region, service: 'bedrock', credentials: found, now: new Date(date()) },
    )
    const response = await ask(exchange, {
      method: 'POST',
      path,
      // The signature covers this name, whichever address the service has.
      authority: name,
      headers: [...own, ...signed],
      body,
      timeout,
      maxBytes: MAX_RESPONSE,
    })
    if ('failure' in response) return failed(response.failure)
    if (response.status !== 200) return failed(`status ${response.status}`)
    return verdictOf(Buffer.from(response.body).toString('utf8'))
  }
  return async (exchange, phase, messages) => {
    const source = phase === 'request' ? 'INPUT' : 'OUTPUT'
    const texts: string[] = []
    for (const { content } of messages) {
      const applied: Applied =
        content.trim() === '' ? { kind: 'passed' } : await apply(exchange, source, content)
      if (applied.kind === 'failed' || applied.kind === 'rejected') return applied
      texts.push(applied.kind === 'masked' ? applied.text : content)
    }
    return { kind: 'masked', texts }
  }
}

type Applied =
  | Exclude<WebhookVerdict, { readonly kind: 'masked' }>
  | { readonly kind: 'masked'; readonly text: string }

const failed = (detail: string) => ({ kind: 'failed', detail }) as const

function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (letter) => {
    return `%${letter.charCodeAt(0).toString(16).toUpperCase()}`
  })
}

function credentialsOf(
  { policies }: BedrockGuardrails,
  policy: ValidPolicy,
  context: CompileContext,
): FindAws {
  const found = writtenCredentials(policies.backendAuth?.aws ?? {})
  return found === undefined ? openAwsCredentials(policy, context) : () => found
}

/** Rejects what a policy of the guardrail blocked; any other intervention masks. */
function verdictOf(text: string): Applied {
  const value = readJson(text, { duplicates: 'reject' }) as Fields | undefined
  const action = value?.['action']
  if (action === 'NONE') return { kind: 'passed' }
  if (action !== 'GUARDRAIL_INTERVENED') return failed('the response has no action')
  const { assessments } = value ?? {}
  if (!Array.isArray(assessments) || assessments.length === 0)
    return failed('the response has no assessments')
  const outputs = value?.['outputs']
  const [output] = Array.isArray(outputs) ? outputs : []
  const masked = (output as Fields | undefined)?.['text']
  const isMasking = isAllMasked(assessments) && typeof masked === 'string'
  return isMasking ? { kind: 'masked', text: masked } : { kind: 'rejected' }
}

type Fields = Readonly<Record<string, unknown>>

/**
 * Whether all actions that the findings report are masking; with no action, the text counts as
 * blocked.
 */
function isAllMasked(assessments: readonly unknown[]): boolean {
  const actions: unknown[] = []
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) walk(one)
    else if (typeof value === 'object' && value !== null) {
      const { action } = value as Fields
      if (action !== undefined) actions.push(action)
      for (const one of Object.values(value)) walk(one)
    }
  }
  walk(assessments)
  const decided = actions.filter((action) => action !== 'NONE')
  return decided.length > 0 && decided.every((action) => action === 'ANONYMIZED')
}
