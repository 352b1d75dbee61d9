import type { WholePart } from '../../exchange/body-part.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { headerEdit } from '../../exchange/header-edit.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import type { Attachments, CompileContext, Part } from '../define.ts'
import { sentHeaders } from '../sent-headers.ts'
import { type Header, isFit, isFitName } from '../service-headers.ts'
import { DESTINATION } from './destination.ts'
import type { Picked } from './grpc.ts'
import type { InferenceRouting } from './schema.ts'

const TOO_LARGE = reply(413, 'too-large')

/** An endpoint picker needs no client credentials. */
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie'])

export function compileInferenceRouting(
  [policy]: Attachments<InferenceRouting>,
  context: CompileContext,
): Part {
  const { endpointPicker, failureMode, timeout } = policy.value
  const ask = context.connect(endpointPicker, policy, '2')
  const isOpen = failureMode === 'FailOpen'
  // Loaded only if there is such a policy: loading protobuf takes too long for the request path.
  const loading = import('./grpc.ts')
  loading.catch(() => {})
  /** Bodies that pickers replaced. */
  const bodies = new WeakMap<Exchange, Uint8Array>()
  const settle = (exchange: Exchange, picked: Picked): Reply | undefined => {
    if (picked.kind === 'responded') return responded(picked)
    if (picked.kind === 'failed') {
      if (!isOpen) return { ...reply(503, 'endpoint-picker'), detail: picked.detail }
      // The picker did not respond, and a client must not set the header in its name.
      exchange.requestEdit = exchange.requestEdit.with(headerEdit({ remove: [DESTINATION] }))
      return undefined
    }
    const { endpoints, body } = picked
    const remove = picked.remove.filter(isFitName)
    const set = picked.set.filter(isFit).map(([name, value]) => ({ name, value }))
    exchange.requestEdit = exchange.requestEdit.with(
      headerEdit({ remove: [DESTINATION, ...remove], set }),
    )
    exchange.picked = { backend: String(exchange.backend?.['name']), endpoints, isOpen }
    if (body !== undefined) bodies.set(exchange, body)
    return undefined
  }
  const requestBody: WholePart = {
    mode: 'whole',
    maxBytes: undefined,
    whenLonger: 'reject',
    grpc: true,
    change: (_, exchange) => bodies.get(exchange),
  }
  return {
    step: async (exchange) => {
      const { codedBody, request, bodyBeginning } = exchange
      const body = codedBody ?? request.body
      if (body === undefined && bodyBeginning !== undefined) return TOO_LARGE
      const { pickerCall, readPick } = await loading
      const response = await ask(exchange, pickerCall(headersOf(exchange), body, timeout))
      const picked: Picked =
        'failure' in response ? { kind: 'failed', detail: response.failure } : readPick(response)
      return settle(exchange, picked)
    },
    requestBody,
  }
}

function responded({
  status,
  headers,
  body,
  detail,
}: Extract<Picked, { readonly kind: 'responded' }>): Reply {
  const fit = headers.filter(isFit)
  const isType = ([name]: Header) => name.toLowerCase() === 'content-type'
  const set = fit.filter((one) => !isType(one)).map(([name, value]) => ({ name, value }))
  const plain = body.length === 0 ? '' : 'text/plain; charset=utf-8'
  return {
    ...reply(status, 'endpoint-picker', '', headerEdit({ set })),
    ...(body.length === 0 ? {} : { body }),
    contentType: body.length === 0 ? '' : (fit.find(isType)?.[1] ?? plain),
    detail,
  }
}

/** Headers as they would be sent to the backend. */
function headersOf(exchange: Exchange): readonly Header[] {
  return sentHeaders(exchange).filter(([name]) => name !== DESTINATION && !CREDENTIALS.has(name))
}
