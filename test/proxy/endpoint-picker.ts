import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'
import { decodeEnvoy, encodeEnvoy } from './envoy-messages.ts'

/*
 * An endpoint picker based on independent gRPC and protobuf libraries, which reads a request to its
 * end before it responds, as the reference implementation does.
 */

interface Message {
  readonly requestHeaders?: {
    readonly headers: { readonly headers: readonly { key: string; rawValue: Uint8Array }[] }
    readonly endOfStream?: boolean
  }
  readonly requestBody?: { readonly body?: Uint8Array; readonly endOfStream?: boolean }
}

/** A request as the picker sees it. */
export interface PickerRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The number of chunks in which the body arrived. */
  readonly pieces: number
}

export interface Picker {
  readonly port: number
  readonly asked: readonly PickerRequest[]
  /** The messages for a request, in order; undefined: never responds. */
  decide: (request: PickerRequest) => readonly object[] | undefined
  close(): void
}

export async function startPicker(host = '127.0.0.1'): Promise<Picker> {
  const asked: PickerRequest[] = []
  const server = new Server()
  const picker = {
    port: 0,
    asked,
    decide: (): readonly object[] | undefined => undefined,
    close: () => server.forceShutdown(),
  } as { port: number } & Picker
  const process = (call: ServerDuplexStream<Message, object>) => {
    let headers: Readonly<Record<string, string>> = {}
    const pieces: Uint8Array[] = []
    const end = () => {
      const body = Buffer.concat(pieces).toString()
      const request = { headers, body, pieces: pieces.length }
      asked.push(request)
      for (const message of picker.decide(request) ?? []) call.write(message)
    }
    call.on('data', ({ requestHeaders, requestBody }: Message) => {
      if (requestHeaders !== undefined) {
        headers = Object.fromEntries(
          requestHeaders.headers.headers.map(({ key, rawValue }) => [
            key,
            Buffer.from(rawValue).toString(),
          ]),
        )
        if (requestHeaders.endOfStream === true) end()
      }
      if (requestBody !== undefined) {
        pieces.push(requestBody.body ?? new Uint8Array())
        if (requestBody.endOfStream === true) end()
      }
    })
    call.on('error', () => {})
    call.on('end', () => {
      const last = asked.at(-1)
      if (last === undefined || picker.decide(last) !== undefined) call.end()
    })
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
  picker.port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${host}:0`, ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    )
  })
  return picker
}

const rawHeaders = (headers: Readonly<Record<string, string>>) => ({
  setHeaders: Object.entries(headers).map(([key, value]) => ({
    header: { key, rawValue: Buffer.from(value) },
  })),
})

/** As in the reference implementation: the headers first, then the received body or another one. */
export function picks(
  endpoints: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): readonly object[] {
  const all = { 'x-gateway-destination-endpoint': endpoints, ...headers }
  const half = Math.ceil(body.length / 2)
  const piece = (text: string, endOfStream: boolean) => ({
    requestBody: {
      response: {
        bodyMutation: { streamedResponse: { body: Buffer.from(text), endOfStream } },
      },
    },
  })
  return [
    { requestHeaders: { response: { headerMutation: rawHeaders(all) } } },
    piece(body.slice(0, half), false),
    piece(body.slice(half), true),
  ]
}

export function responds(
  code: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): readonly object[] {
  return [
    {
      immediateResponse: {
        status: { code },
        headers: rawHeaders(headers),
        body: Buffer.from(body),
        details: 'said so',
      },
    },
  ]
}
