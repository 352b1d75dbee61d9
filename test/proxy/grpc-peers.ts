import {
  ChannelCredentials,
  Client,
  type ClientOptions,
  type handleBidiStreamingCall,
  type handleClientStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'

/** Messages are bytes: their schema is irrelevant to a gateway. */
export const asIs = (bytes: Buffer): Buffer => bytes

export const SERVICE = 'test.Echo'

const method = (name: string, requestStream: boolean, responseStream: boolean) => ({
  path: `/${SERVICE}/${name}`,
  originalName: name,
  requestStream,
  responseStream,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
})

const DEFINITION: ServiceDefinition = {
  unary: method('unary', false, false),
  fail: method('fail', false, false),
  silent: method('silent', false, false),
  server: method('server', false, true),
  breaking: method('breaking', false, true),
  client: method('client', true, false),
  both: method('both', true, true),
}

export interface GrpcPeer {
  readonly port: number
  /** Calls that the client cancelled, by method. */
  readonly cancelled: readonly string[]
  readonly close: () => void
}

/** A server of @grpc/grpc-js in cleartext. */
export async function startGrpc(): Promise<GrpcPeer> {
  const cancelled: string[] = []
  const server = new Server({ 'grpc.max_receive_message_length': 64 << 20 })
  server.addService(DEFINITION, implementation(cancelled))
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, own) =>
      error === null ? resolve(own) : reject(error),
    ),
  )
  return { port, cancelled, close: () => server.forceShutdown() }
}

interface Implementation extends UntypedServiceImplementation {
  unary: handleUnaryCall<Buffer, Buffer>
  fail: handleUnaryCall<Buffer, Buffer>
  silent: handleUnaryCall<Buffer, Buffer>
  server: handleServerStreamingCall<Buffer, Buffer>
  breaking: handleServerStreamingCall<Buffer, Buffer>
  client: handleClientStreamingCall<Buffer, Buffer>
  both: handleBidiStreamingCall<Buffer, Buffer>
}

const implementation = (cancelled: string[]): Implementation => ({
  unary: (call, callback) => {
    const head = new Metadata()
    head.set('x-head', 'of the server')
    call.sendMetadata(head)
    const tail = new Metadata()
    tail.set('x-tail', 'behind it')
    tail.set('x-seen-bin', Buffer.from(call.metadata.get('x-own-bin')[0] ?? ''))
    callback(null, call.request, tail)
  },
  fail: (_call, callback) => {
    const tail = new Metadata()
    tail.set('x-why', 'tested')
    callback({ code: status.FAILED_PRECONDITION, details: 'nö, 100%', metadata: tail })
  },
  silent: (call) => void call.on('cancelled', () => cancelled.push('silent')),
  server: (call) => {
    const count = Number(call.request.toString())
    for (let i = 0; i < count; i++) call.write(Buffer.from(`message ${i}`))
    call.end()
  },
  breaking: (call) => {
    call.write(Buffer.from('one'))
    call.emit('error', { code: status.DATA_LOSS, details: 'lost' })
  },
  client: (call, callback) => {
    let byteCount = 0
    call.on('data', (bytes: Buffer) => (byteCount += bytes.length))
    call.on('end', () => callback(null, Buffer.from(String(byteCount))))
  },
  both: (call) => {
    call.on('data', (bytes: Buffer) => call.write(Buffer.concat([Buffer.from('re: '), bytes])))
    call.on('end', () => call.end())
    call.on('cancelled', () => cancelled.push('both'))
  },
})

/** A client of @grpc/grpc-js; over TLS if `ca` is set. */
export function grpcClient(port: number, ca?: string): Client {
  const options: ClientOptions = {
    'grpc.max_receive_message_length': 64 << 20,
    'grpc.use_local_subchannel_pool': 1,
    ...(ca === undefined ? {} : { 'grpc.ssl_target_name_override': 'grpc.test' }),
  }
  const credentials =
    ca === undefined
      ? ChannelCredentials.createInsecure()
      : ChannelCredentials.createSsl(Buffer.from(ca))
  return new Client(`127.0.0.1:${port}`, credentials, options)
}
