import type { Endpoint, ParsedBody, Read, RequestSummary, ResponseSummary } from './dialect.ts'
import { type Fields, glanceAtBody, readBody, reading, reject, str } from './reading.ts'
import { type EdgeNames, readEdges } from './response-edges.ts'
import type { Usage } from './usage.ts'

/** Describes a request whose body is a JSON object, whatever else it contains. */
export function describeJson(
  bytes: Uint8Array,
  endpoint: Endpoint,
  parsed?: ParsedBody,
): Read<RequestSummary> {
  return reading(() => {
    const body = parsed ?? readBody(bytes)
    const model = endpoint.model ?? body['model']
    if (typeof model !== 'string' || model === '') {
      reject('`model` is required, as a string.', 'model')
    }
    const stream = body['stream'] ?? false
    if (typeof stream !== 'boolean') reject('`stream` must be true or false.', 'stream')
    return { model, stream: endpoint.stream ?? stream, body }
  })
}

/** Summarizes a whole response; `usage` reads the member that has the usage. */
export function summarize(
  bytes: Uint8Array,
  names: EdgeNames,
  usage: (value: unknown) => Usage | undefined,
): ResponseSummary {
  const body: Fields = readEdges(bytes, names) ?? glanceAtBody(bytes) ?? {}
  return {
    id: names.id === undefined ? undefined : str(body[names.id]) || undefined,
    model: str(body[names.model]) || undefined,
    usage: usage(body[names.usage]),
  }
}
