import type { Variables } from '../../cel/index.ts'
import type { WholePart } from '../../exchange/body-part.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { headerEdit } from '../../exchange/header-edit.ts'
import type { ResponseDraft } from '../../exchange/response-draft.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { type Attachments, type CompileContext, type Part, variablesOf } from '../define.ts'
import { compileChanges, type Message } from './changes.ts'
import type { Transformations, Variant } from './schema.ts'

/** One compiled entry. */
interface Running {
  readonly applies: ((variables: Variables) => boolean) | undefined
  readonly request: Message | undefined
  readonly response: Message | undefined
}

export function compileTransformations(
  [policy]: Attachments<Transformations>,
  context: CompileContext,
): Part {
  const running = policy.value.variants.map((variant, index) =>
    compileVariant(variant, policy, index, context),
  )
  const { decide, choose } = chooser(running)
  const requests = running.flatMap(({ request }) => request ?? [])
  const responses = running.flatMap(({ response }) => response ?? [])
  return {
    step: (exchange) => {
      const one = decide(exchange)
      const { response } = one ?? {}
      // A range of the changed body would be a different range, and an expression might miss its
      // match.
      if (response?.readsBody || response?.bodyOf)
        exchange.requestEdit = exchange.requestEdit.with(response.readsBody ? AS_IT_IS : ALL_OF_IT)
      one?.request?.changeRequest(exchange)
      return undefined
    },
    ...(responses.length === 0
      ? {}
      : {
          response: (exchange: Exchange, draft: ResponseDraft) => {
            choose(exchange)?.response?.changeResponse(exchange, draft)
            return undefined
          },
          otherHead: (exchange: Exchange, head: ResponseDraft) =>
            choose(exchange)?.response?.changeHead(exchange, head),
        }),
    // Clients choose their Content-Type: to say gRPC must not keep a body from being replaced.
    ...(requests.some(({ bodyOf }) => bodyOf !== undefined)
      ? { requestBody: { ...whole((exchange) => choose(exchange)?.request), grpc: true } }
      : {}),
    ...(responses.some(({ bodyOf }) => bodyOf !== undefined)
      ? { responseBody: whole((exchange) => choose(exchange)?.response) }
      : {}),
  }
}

const ALL_OF_IT = headerEdit({ remove: ['range', 'if-range'] })
/** Also requests no compression, so that the body can be read without decompressing it. */
const AS_IT_IS = ALL_OF_IT.with(
  headerEdit({ set: [{ name: 'accept-encoding', value: 'identity' }] }),
)

function whole(messageOf: (exchange: Exchange) => Message | undefined): WholePart {
  return {
    mode: 'whole',
    maxBytes: undefined,
    isRead: true,
    whenLonger: 'reject',
    change: (_, exchange) => messageOf(exchange)?.bodyOf?.(exchange),
  }
}

function compileVariant(
  { condition, request, response }: Variant,
  policy: ValidPolicy,
  index: number,
  context: CompileContext,
): Running {
  const isOne = condition === undefined && index === 0
  const field = isOne ? '' : `conditional[${index}].`
  const message = (changes: Variant['request'], part: 'request' | 'response') =>
    changes && compileChanges(changes, policy, `${field}${part}`, part, context)
  return {
    applies:
      condition === undefined ? undefined : compileCondition(condition, policy, field, context),
    request: message(request, 'request'),
    response: message(response, 'response'),
  }
}

/** A condition that fails counts as not true, as in a rule. */
function compileCondition(
  text: string,
  policy: ValidPolicy,
  field: string,
  context: CompileContext,
) {
  const place = { policy, field: `${field}condition`, result: 'bool', stage: 'transform' } as const
  return context.compile(text, place)?.predicate() ?? (() => false)
}

interface Chooser {
  /** The first entry that applies to the request in its current state. */
  decide(exchange: Exchange): Running | undefined
  /** The entry that was decided on, for later phases; if there is none yet, like `decide`. */
  choose(exchange: Exchange): Running | undefined
}

/**
 * The step of a policy decides, again for each provider that is tried; response and bodies use the
 * entry that the request matched last.
 */
function chooser(running: readonly Running[]): Chooser {
  const [first] = running
  if (first?.applies === undefined) return { decide: () => first, choose: () => first }
  const chosen = new WeakMap<Exchange, Running | 'none'>()
  const decide = (exchange: Exchange) => {
    const variables = variablesOf(exchange)
    const one = running.find(({ applies }) => applies?.(variables) ?? true)
    chosen.set(exchange, one ?? 'none')
    return one
  }
  const choose = (exchange: Exchange) => {
    const one = chosen.get(exchange)
    if (one === undefined) return decide(exchange)
    return one === 'none' ? undefined : one
  }
  return { decide, choose }
}
