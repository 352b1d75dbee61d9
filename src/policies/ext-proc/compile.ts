import { toJson } from '../../cel/values/json-write.ts'
import type { BodyPart } from '../../exchange/body-part.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import type { Outcome } from '../../exchange/step.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { entriesIn } from '../conditional.ts'
import { type Attachments, type CompileContext, type Part, variablesOf } from '../define.ts'
import type { Computed, Processor } from './processing.ts'
import { Processing } from './processing.ts'
import { responseStream } from './response-stream.ts'
import type { ExtProc } from './schema.ts'

export function compileExtProc([policy]: Attachments<unknown>, context: CompileContext): Part {
  const entries = entriesIn(policy.value)
  const processors = entries.map(({ condition, value }, index) => {
    const field = 'conditional' in (policy.value as object) ? `conditional[${index}].` : ''
    const place = { policy, field: `${field}condition`, result: 'rule' } as const
    const evaluate = condition === undefined ? undefined : context.compile(condition, place)
    return {
      processor: compileOne(policy, value as ExtProc, field, context),
      // An entry that does not compile makes the whole policy deny.
      evaluate: condition === undefined ? () => true : (evaluate?.evaluate() ?? (() => undefined)),
    }
  })
  /** The processing of each active request and of its response. */
  const active = new WeakMap<Exchange, Processing>()

  const step = (exchange: Exchange): Outcome | Promise<Outcome> => {
    const variables = variablesOf(exchange)
    // In doubt it applies: a client could make a condition fail by omitting what it reads.
    const found = processors.find(({ evaluate }) => evaluate(variables) !== false)
    if (found === undefined) return undefined
    const processing = new Processing(found.processor, exchange)
    active.set(exchange, processing)
    exchange.onOver = () => processing.stop()
    return processing.request()
  }

  const requestBody: BodyPart = {
    mode: 'stream',
    grpc: true,
    open: (exchange, flow) => {
      const body = active.get(exchange)?.replacedBody
      // Backends that read the body themselves have already read the new one.
      if (body === undefined || READS_BODY.has(exchange.backend?.type)) return undefined
      return {
        write: () => true,
        end() {
          if (body.length > 0) flow.write(body)
          flow.end()
        },
        resume: () => flow.drained(),
        abort() {},
      }
    },
  }

  return {
    step,
    requestBody,
    response: (exchange, draft) => active.get(exchange)?.response(draft),
    ...responseBodyOf(entries.map(({ value }) => value as ExtProc)[0], active),
  }
}

const READS_BODY: ReadonlySet<unknown> = new Set(['ai', 'mcp'])

/** The same for all entries, as the schema ensures. */
function responseBodyOf(
  value: ExtProc | undefined,
  active: WeakMap<Exchange, Processing>,
): { readonly responseBody?: BodyPart } {
  switch (value?.processingOptions.responseBodyMode) {
    case 'buffered':
      return {
        responseBody: {
          mode: 'whole',
          grpc: true,
          maxBytes: undefined,
          whenLonger: 'reject',
          change: (bytes, exchange, draft) => active.get(exchange)?.responseBody(bytes, draft),
        },
      }
    case 'fullDuplexStreamed':
      return {
        responseBody: {
          mode: 'stream',
          grpc: true,
          open: (exchange, flow, draft) => {
            const processing = active.get(exchange)
            if (draft === undefined || processing?.streamsResponse(draft) !== true) return undefined
            return responseStream(processing, flow)
          },
        },
      }
    default:
      return {}
  }
}

function compileOne(
  policy: ValidPolicy,
  value: ExtProc,
  field: string,
  context: CompileContext,
): Processor {
  const { target, failureMode, timeout, processingOptions } = value
  // Loaded only if there is such a policy: loading protobuf takes too long for the request path.
  const loading = import('./messages.ts')
  loading.catch(() => {})
  const compiled = (
    name: string,
    texts: Readonly<Record<string, string>>,
    stage?: 'response',
  ): Computed => {
    const all = Object.entries(texts).map(([key, text]) => {
      const place = { policy, field: `${field}${name}.${key}`, result: 'any' } as const
      const expression = context.compile(text, stage === undefined ? place : { ...place, stage })
      return [key, expression?.evaluate()] as const
    })
    return (exchange) => {
      const variables = variablesOf(exchange)
      const values = all.flatMap(([key, evaluate]) => {
        const found = evaluate?.(variables)
        return found === undefined ? [] : [[key, toJson(found)] as const]
      })
      return Object.fromEntries(values)
    }
  }
  const namespaces = Object.entries(value.metadataContext).map(
    ([name, texts]) => [name, compiled(`metadataContext.${name}`, texts)] as const,
  )
  return {
    open: context.connect(target, policy, '2').open,
    loading,
    isOpen: failureMode === 'failOpen',
    timeout,
    options: processingOptions,
    metadata: (exchange) =>
      Object.fromEntries(namespaces.map(([name, valuesOf]) => [name, valuesOf(exchange)])),
    requestAttributes: compiled('requestAttributes', value.requestAttributes),
    responseAttributes: compiled('responseAttributes', value.responseAttributes, 'response'),
  }
}
