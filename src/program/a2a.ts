import type { BodyFlow, BodyTransformer } from '../exchange/body-part.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { headerEdit } from '../exchange/header-edit.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { ResponseDraft } from '../exchange/response-draft.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { A2a } from '../policies/a2a/schema.ts'
import { type CardAddress, differentStart, rewriteCard } from '../protocols/a2a/card.ts'
import { a2aErrorFormat, callErrorText } from '../protocols/a2a/errors.ts'
import { type A2aMessage, type A2aRejection, readA2a } from '../protocols/a2a/message.ts'
import { isOf1_0 } from '../protocols/a2a/signed-card.ts'
import { type CardSignatures, openCardSignatures } from './card-signatures.ts'
import type { Compilation } from './compilation.ts'
import type { BackendProgram } from './program.ts'
import type { PlacedPart } from './way-back.ts'

/** Agent cards are smaller than this. */
const MAX_CARD = 4 * 1024 * 1024

const UNREADABLE: Reply = { ...reply(502, 'upstream-invalid'), detail: 'agent-card' }
const UNSIGNED: Reply = { ...reply(502, 'upstream-invalid'), detail: 'agent-card-signature' }

/**
 * Makes a backend an A2A agent: its messages are read before rules are evaluated. Undefined if the
 * key for signing cards cannot be used.
 */
export function withA2a(
  compilation: Compilation,
  program: BackendProgram,
  policy: ValidPolicy,
): BackendProgram | undefined {
  const { publicUrl } = policy.value as A2a
  const signatures = openCardSignatures(compilation, policy)
  if (signatures === undefined) return undefined
  const cards = new WeakMap<Exchange, NonNullable<A2aMessage['card']>>()

  const describe = (exchange: Exchange): Reply | undefined => {
    const { request, path, search } = exchange
    const header = (name: string) => request.headers.get(name)
    const read = readA2a({ verb: request.method, path, search, body: request.body, header })
    if ('rejected' in read) return rejected(exchange, read)
    exchange.a2a = read.attributes
    if (read.card === undefined) return undefined
    cards.set(exchange, read.card)
    const edit = headerEdit({ set: [], remove: CARD_REQUEST })
    exchange.requestEdit = exchange.requestEdit.with(edit)
    return undefined
  }

  const isCard = (exchange: Exchange, draft: ResponseDraft) =>
    !draft.isOwn && draft.status === 200 && draft.hasBody && cards.has(exchange)

  const part: PlacedPart = {
    policy: undefined,
    response: (exchange, draft) => {
      if (!isCard(exchange, draft)) return undefined
      const coding = (draft.headers.get('content-encoding') ?? '').trim()
      if (!/^(?:identity)?$/i.test(coding)) return UNREADABLE
      draft.change(headerEdit({ set: [], remove: CARD_RESPONSE }))
      return undefined
    },
    body: {
      mode: 'stream',
      open: (exchange, flow, draft) => {
        if (draft === undefined || !isCard(exchange, draft)) return undefined
        const within = cards.get(exchange) === 'result' ? ['result'] : []
        const address = addressOf(exchange, publicUrl)
        return collect(flow, (text) => cardOf(text, within, address, signatures))
      },
    },
  }
  return {
    ...program,
    errorFormat: a2aErrorFormat,
    readsBody: true,
    decodesBody: true,
    describe,
    run: (exchange) => describe(exchange) ?? program.run(exchange),
    responseParts: [part, ...(program.responseParts ?? [])],
  }
}

/** The gateway's card depends on the client and differs from the agent's: these are removed. */
const CARD_REQUEST = ['accept-encoding', 'if-none-match', 'if-modified-since', 'range']
const CARD_RESPONSE = ['etag', 'last-modified', 'digest', 'content-digest', 'repr-digest']

function rejected({ request }: Exchange, { rejected: message, status, code }: A2aRejection): Reply {
  const own = { ...reply(status, 'bad-request'), detail: 'a2a-request', message }
  if (code === undefined) return own
  const body = callErrorText(request, { code, message })
  return { ...own, body, contentType: 'application/json' }
}

function addressOf({ request, path }: Exchange, publicUrl: string | undefined): CardAddress {
  const authority = request.headers.get('host') ?? request.host
  const base = publicUrl ?? `${request.scheme}://${authority}`
  return { base, ...differentStart(request.path, path) }
}

/** Returns the card for the client, or a reply if the client must not get the card. */
async function cardOf(
  text: string,
  within: readonly string[],
  address: CardAddress,
  { verify, sign }: CardSignatures,
): Promise<string | Reply> {
  // An error in the result of a call is not a card and stays unchanged.
  if (isError(text, within)) return text
  const covered = (await verify?.(text, within)) ?? 'all'
  if (covered === 'none') return UNSIGNED
  // No signature covers the other members.
  const own = rewriteCard(text, within, address, covered === 'all' ? () => true : isOf1_0)
  if (own === undefined) return UNREADABLE
  return sign === undefined ? own : sign(own, within)
}

function isError(text: string, within: readonly string[]): boolean {
  if (within.length === 0) return false
  try {
    const { result, error } = JSON.parse(text) as { readonly result?: unknown; error?: unknown }
    return error !== undefined && result === undefined
  } catch {
    return false
  }
}

function collect(
  flow: BodyFlow,
  change: (text: string) => Promise<string | Reply>,
): BodyTransformer {
  const pieces: Buffer[] = []
  let size = 0
  let isAborted = false
  return {
    write(bytes) {
      size += bytes.length
      if (size > MAX_CARD) flow.fail(UNREADABLE)
      else pieces.push(Buffer.from(bytes))
      return true
    },
    end() {
      if (size > MAX_CARD) return
      const text = Buffer.concat(pieces).toString('utf8')
      change(text)
        .then((changed) => {
          if (isAborted) return
          if (typeof changed !== 'string') {
            flow.fail(changed)
            return
          }
          flow.write(Buffer.from(changed))
          flow.end()
        })
        // A bug in the gateway: it is reported, and the client gets no card.
        .catch((error: unknown) => flow.fail(error))
    },
    resume: () => flow.drained(),
    abort() {
      isAborted = true
    },
  }
}
