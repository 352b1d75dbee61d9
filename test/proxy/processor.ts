import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'
import { decodeEnvoy, encodeEnvoy } from './envoy-messages.ts'

/* An external processor based on gRPC and protobuf libraries other than the gateway's. */

interface Head {
  readonly headers?: { readonly headers: readonly { key: string; rawValue: Uint8Array }[] }
  readonly endOfStream?: boolean
}

interface Piece {
  readonly body?: Uint8Array
  readonly endOfStream?: boolean
}

export interface Message {
  readonly requestHeaders?: Head
  readonly responseHeaders?: Head
  readonly requestBody?: Piece
  readonly responseBody?: Piece
  readonly attributes?: object
  readonly metadataContext?: object
  readonly protocolConfig?: object
}

/** One message as a test reads it. */
export interface Heard {
  readonly phase: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly endOfStream: boolean
  readonly message: Message
}

export interface Service {
  readonly port: number
  readonly heard: Heard[]
  /** The number of open streams. */
  open: number
  /** The response to a message; undefined: none; `end`: closes the stream. */
  respondWith: (heard: Heard) => readonly object[] | 'end' | undefined
  close(): void
}

export async function startProcessor(): Promise<Service> {
  const server = new Server()
  const service = {
    port: 0,
    heard: [] as Heard[],
    open: 0,
    respondWith: (): readonly object[] => [],
    close: () => server.forceShutdown(),
  } as { port: number } & Service
  const process = (call: ServerDuplexStream<Message, object>) => {
    service.open++
    call.on('data', (message: Message) => {
      const heard = read(message)
      service.heard.push(heard)
      const said = service.respondWith(heard)
      if (said === 'end') call.end()
      else for (const one of said ?? []) call.write(one)
    })
    call.on('error', () => {})
    call.on('end', () => call.end())
    call.on('close', () => service.open--)
    call.on('cancelled', () => call.end())
  }
  server.addService(
    {
      process: {
        path: '/envoy.service.ext_proc.v3.ExternalProcessor/Process',
        requestStream: true,
        responseStream: true,
        requestSerialize: (value: object) => encodeEnvoy('ProcessingRequest', value),
        requestDeserialize: (bytes: Buffer) => decodeEnvoy('ProcessingRequest', bytes) as Message,
        responseSerialize: (value: object) => encodeEnvoy('ProcessingResponse', value),
        responseDeserialize: (bytes: Buffer) => decodeEnvoy('ProcessingResponse', bytes),
      },
    },
    { process },
  )
  service.port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    )
  })
  return service
}

function read(message: Message): Heard {
  const { requestHeaders, responseHeaders, requestBody, responseBody } = message
  const head = requestHeaders ?? responseHeaders
  const piece = requestBody ?? responseBody
  const way = (requestHeaders ?? requestBody) ? 'request' : 'response'
  return {
    phase: `${way}${head === undefined ? 'Body' : 'Headers'}`,
    headers: Object.fromEntries(
      (head?.headers?.headers ?? []).map(({ key, rawValue }) => [
        key,
        Buffer.from(rawValue).toString('latin1'),
      ]),
    ),
    body: Buffer.from(piece?.body ?? []).toString(),
    endOfStream: (head ?? piece)?.endOfStream === true,
    message,
  }
}

interface Wanted {
  readonly set?: Readonly<Record<string, string>>
  readonly append?: Readonly<Record<string, string>>
  readonly remove?: readonly string[]
  readonly bodyMutation?: object
  readonly status?: number
  readonly modeOverride?: object
}

const options = (headers: Readonly<Record<string, string>> = {}, more: object = {}) =>
  Object.entries(headers).map(([key, value]) => ({
    header: { key, rawValue: Buffer.from(value) },
    ...more,
  }))

/** The response to a phase. */
export function says(phase: string, wanted: Wanted = {}): object {
  const { set, append, remove = [], bodyMutation, status, modeOverride } = wanted
  const setHeaders = [...options(set), ...options(append, { append: { value: true } })]
  const headerMutation = { setHeaders, removeHeaders: remove }
  const response = { status, headerMutation, bodyMutation }
  return { [phase]: { response }, ...(modeOverride && { modeOverride }) }
}

export const newBody = (text: string) => ({ body: Buffer.from(text) })
export const piece = (text: string, endOfStream: boolean) => ({
  streamedResponse: { body: Buffer.from(text), endOfStream },
})

export function responds(
  code: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): object {
  const immediateResponse = {
    status: { code },
    headers: { setHeaders: options(headers) },
    body: Buffer.from(body),
    details: 'because',
  }
  return { immediateResponse }
}
