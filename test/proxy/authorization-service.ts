import {
  create,
  createFileRegistry,
  type DescMessage,
  fromBinary,
  toBinary,
  toJson,
} from '@bufbuild/protobuf'
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from '@bufbuild/protobuf/wkt'
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js'

/**
 * The messages of Envoy's external authorization, version 3, as another implementation of protobuf
 * reads and writes them: `name: number type`, `*` where repeated, `map` from strings.
 */
const MESSAGES: Readonly<Record<string, string>> = {
  CheckRequest: 'attributes:1 AttributeContext',
  AttributeContext:
    'source:1 Peer, destination:2 Peer, request:4 Request, context_extensions:10 map string, metadata_context:11 Metadata, tls_session:12 TlsSession',
  Peer: 'address:1 Address, principal:4 string',
  Address: 'socket_address:1 SocketAddress',
  SocketAddress: 'address:2 string, port_value:3 uint32',
  Request: 'time:1 Timestamp, http:2 HttpRequest',
  Timestamp: 'seconds:1 int64, nanos:2 int32',
  HttpRequest:
    'id:1 string, method:2 string, headers:3 map string, path:4 string, host:5 string, scheme:6 string, query:7 string, size:9 int64, protocol:10 string, body:11 string, raw_body:12 bytes',
  Metadata: 'filter_metadata:1 map Struct',
  TlsSession: 'sni:1 string',
  Struct: 'fields:1 map Value',
  Value:
    'null_value:1 int32, number_value:2 double, string_value:3 string, bool_value:4 bool, struct_value:5 Struct, list_value:6 ListValue',
  ListValue: 'values:1 *Value',
  CheckResponse:
    'status:1 Status, denied_response:2 Denied, ok_response:3 Ok, dynamic_metadata:4 Struct',
  Status: 'code:1 int32, message:2 string',
  Denied: 'status:1 HttpStatus, headers:2 *HeaderValueOption, body:3 string',
  HttpStatus: 'code:1 int32',
  Ok: 'headers:2 *HeaderValueOption, headers_to_remove:5 *string, response_headers_to_add:6 *HeaderValueOption, query_parameters_to_set:7 *QueryParameter, query_parameters_to_remove:8 *string',
  QueryParameter: 'key:1 string, value:2 string',
  HeaderValueOption: 'header:1 HeaderValue, append:2 BoolValue, append_action:3 int32',
  HeaderValue: 'key:1 string, value:2 string, raw_value:3 bytes',
  BoolValue: 'value:1 bool',
}

const SCALARS: Readonly<Record<string, Type>> = {
  string: Type.STRING,
  bytes: Type.BYTES,
  bool: Type.BOOL,
  double: Type.DOUBLE,
  int32: Type.INT32,
  int64: Type.INT64,
  uint32: Type.UINT32,
}

function describe(): FileDescriptorProto {
  const messageType = Object.entries(MESSAGES).map(([name, written]) => {
    const nestedType: object[] = []
    const field = written.split(', ').map((text) => {
      const [own = '', ...rest] = text.split(' ')
      const [fieldName = '', number] = own.split(':')
      const isMap = rest[0] === 'map'
      const isRepeated = isMap || rest[0]?.startsWith('*') === true
      const type = (isMap ? rest[1] : rest[0]?.replace('*', '')) ?? ''
      const of = (value: string) =>
        value in SCALARS
          ? { type: SCALARS[value] }
          : { type: Type.MESSAGE, typeName: `.test.${value}` }
      const label = isRepeated ? Label.REPEATED : Label.OPTIONAL
      const jsonName = fieldName.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
      const named = { name: fieldName, jsonName, number: Number(number), label }
      if (!isMap) return { ...named, ...of(type) }
      const camel = fieldName.replace(/(^|_)(.)/g, (_, __, letter: string) => letter.toUpperCase())
      nestedType.push({
        name: `${camel}Entry`,
        options: { mapEntry: true },
        field: [
          { name: 'key', jsonName: 'key', number: 1, label: Label.OPTIONAL, type: Type.STRING },
          { name: 'value', jsonName: 'value', number: 2, label: Label.OPTIONAL, ...of(type) },
        ],
      })
      return { ...named, type: Type.MESSAGE, typeName: `.test.${name}.${camel}Entry` }
    })
    return { name, field, nestedType }
  })
  const file = { name: 'test.proto', package: 'test', syntax: 'proto3', messageType }
  return create(FileDescriptorProtoSchema, file as never)
}

const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [describe()] }))
const schemaOf = (name: string) => registry.getMessage(`test.${name}`) as DescMessage

/** A CheckRequest as JSON, with the names of the protocol in camel case. */
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
  /** Its next answers: a CheckResponse as an object, `null` for none at all, a number for a status. */
  answer: (request: Checked) => object | null | number
  close(): void
}

/** An authorization service that speaks gRPC by its own library. */
export async function startAuthorizationService(): Promise<AuthorizationService> {
  const server = new Server()
  const checked: Checked[] = []
  const service = {
    port: 0,
    checked,
    answer: () => ({}) as object,
    close: () => server.forceShutdown(),
  }
  const handler = (call: ServerUnaryCall<Checked, object>, done: sendUnaryData<object>) => {
    checked.push(call.request)
    const answer = (service as AuthorizationService).answer(call.request)
    if (typeof answer === 'number') done({ code: answer, details: 'no' })
    else if (answer !== null) done(null, answer)
  }
  const request = schemaOf('CheckRequest')
  const response = schemaOf('CheckResponse')
  server.addService(
    {
      check: {
        path: '/envoy.service.auth.v3.Authorization/Check',
        requestStream: false,
        responseStream: false,
        requestSerialize: (value: object) => Buffer.from(JSON.stringify(value)),
        requestDeserialize: (bytes: Buffer) =>
          toJson(request, fromBinary(request, bytes)) as unknown as Checked,
        responseSerialize: (value: object) =>
          Buffer.from(toBinary(response, create(response, value as never))),
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
