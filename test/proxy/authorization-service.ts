import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js'
import { decodeEnvoy, encodeEnvoy } from './envoy-messages.ts'

/** A CheckRequest as JSON, with the protocol's names in camel case. */
export interface Checked {
  readonly attributes: {
    readonly request: { readonly http: HttpAttributes }
    readonly source: { readonly address: { readonly socketAddress: { readonly address: string } } }
    readonly contextExtensions: object
    readonly metadataContext: {
      readonly filterMetadata: Readonly<Record<string, { readonly fields: object }>>
    }
  }
}

type HttpAttributes = Readonly<Record<string, unknown>> & {
  readonly headers: Readonly<Record<string, string>>
}

export interface AuthorizationService {
  readonly port: number
  readonly checked: readonly Checked[]
  /**
   * Its next responses: a CheckResponse as an object, `null` for no response, a number for a
   * status.
   */
  respondWith: (request: Checked) => object | null | number
  close(): void
}

/** An authorization service that speaks gRPC through an independent library. */
export async function startAuthorizationService(): Promise<AuthorizationService> {
  const server = new Server()
  const checked: Checked[] = []
  const service = {
    port: 0,
    checked,
    respondWith: () => ({}) as object,
    close: () => server.forceShutdown(),
  }
  const handler = (call: ServerUnaryCall<Checked, object>, done: sendUnaryData<object>) => {
    checked.push(call.request)
    const response = (service as AuthorizationService).respondWith(call.request)
    if (typeof response === 'number') done({ code: response, details: 'no' })
    else if (response !== null) done(null, response)
  }
  server.addService(
    {
      check: {
        path: '/envoy.service.auth.v3.Authorization/Check',
        requestStream: false,
        responseStream: false,
        requestSerialize: (value: object) => Buffer.from(JSON.stringify(value)),
        requestDeserialize: (bytes: Buffer) =>
          decodeEnvoy('CheckRequest', bytes) as unknown as Checked,
        responseSerialize: (value: object) => encodeEnvoy('CheckResponse', value),
        responseDeserialize: (bytes: Buffer) => bytes as object,
      },
    },
    { check: handler },
  )
  const credentials = ServerCredentials.createInsecure()
  service.port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', credentials, (error, port) =>
      error === null ? resolve(port) : reject(error),
    ),
  )
  return service as AuthorizationService
}
