import { HeaderEdit } from '../../src/exchange/header-edit.ts'
import type { Reply } from '../../src/exchange/reply.ts'
import { ResponseDraft } from '../../src/exchange/response-draft.ts'
import type { OpenStream, StreamEvents } from '../../src/exchange/service-call.ts'
import { Processing } from '../../src/policies/ext-proc/processing.ts'
import type { ExtProc } from '../../src/policies/ext-proc/schema.ts'
import { policySchema } from '../../src/policies/schema.ts'
import { type Asked, exchangeOf } from '../fuzz/exchanges.ts'
import { decodeEnvoy, encodeEnvoy } from './envoy-messages.ts'
import type { Message } from './processor.ts'
import { says } from './processor.ts'

const codec = await import('../../src/policies/ext-proc/messages.ts')

export interface Settings {
  readonly options?: object
  readonly isOpen?: boolean
  readonly asked?: Asked
  readonly body?: string
  /** The beginning of a body that is too long. */
  readonly beginning?: string
}

/** One request and a service that replies to each message as the test says. */
export function startProcessing({
  options = {},
  isOpen = false,
  asked = {},
  body,
  beginning,
}: Settings) {
  const sent: string[] = []
  const log: string[] = []
  let replies: readonly (object | string)[] = []
  const open: OpenStream = (_, __, events: StreamEvents) => ({
    send: (bytes) => {
      const message = decodeEnvoy('ProcessingRequest', bytes) as Message
      sent.push(describeMessage(message))
      const [reply, ...rest] = replies
      if (reply === undefined) return
      replies = rest
      queueMicrotask(() => {
        if (typeof reply === 'string') events.closed(reply)
        else events.message(encodeEnvoy('ProcessingResponse', reply))
      })
    },
    end: () => void log.push('ended'),
    stop: () => void log.push('stopped'),
  })
  const { processingOptions } = policySchema('extProc').parse({
    host: 'service:1',
    processingOptions: options,
  }) as ExtProc
  const exchange = exchangeOf({ method: 'POST', url: '/a?b', ...asked })
  if (body !== undefined) exchange.request.body = Buffer.from(body)
  if (beginning !== undefined) exchange.bodyBeginning = Buffer.from(beginning)
  const processing = new Processing(
    {
      open,
      loading: Promise.resolve(codec),
      isOpen,
      timeout: 5_000,
      options: processingOptions,
      metadata: () => ({}),
      requestAttributes: () => ({}),
      responseAttributes: () => ({}),
    },
    exchange,
  )
  return {
    sent,
    log,
    exchange,
    processing,
    request: async (...own: readonly (object | string)[]) => {
      replies = own
      return shown(await processing.request())
    },
    response: async (draft: ResponseDraft, ...own: readonly (object | string)[]) => {
      replies = own
      return shown(await processing.response(draft))
    },
    body: async (text: string, draft: ResponseDraft, ...own: readonly (object | string)[]) => {
      replies = own
      const out = await processing.responseBody(Buffer.from(text), draft)
      return out instanceof Uint8Array ? Buffer.from(out).toString() : shown(out)
    },
    get replaced() {
      const { replacedBody } = processing
      return replacedBody && Buffer.from(replacedBody).toString()
    },
  }
}

function describeMessage(message: Message): string {
  for (const [phase, part] of Object.entries(message)) {
    if (!/^(request|response)(Headers|Body)$/.test(phase)) continue
    const { body, endOfStream } = part as { body?: Uint8Array; endOfStream?: boolean }
    const text = body === undefined ? '' : ` ${Buffer.from(body)}`
    return `${phase}${text}${endOfStream ? ' END' : ''}`
  }
  return 'unknown'
}

const shown = (reply: Reply | undefined) =>
  reply === undefined ? undefined : `${reply.status} ${reply.detail ?? ''}`.trim()

export const HEADERS = says('requestHeaders')
export const draftOf = (more: ConstructorParameters<typeof ResponseDraft>[3] = {}) =>
  new ResponseDraft(200, undefined, new HeaderEdit([], []), more)
