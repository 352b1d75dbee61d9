import protobuf from 'protobufjs/light.js'

/**
 * The messages of Envoy's external authorization, rate limits and external processing, version 3,
 * as an independent implementation of protobuf reads and writes them: `name: number type`, `*` if
 * repeated, `map` for maps from strings.
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
  RateLimitRequest: 'domain:1 string, descriptors:2 *Descriptor, hits_addend:3 uint32',
  Descriptor: 'entries:1 *Entry, hits_addend:3 UInt64Value',
  Entry: 'key:1 string, value:2 string',
  UInt64Value: 'value:1 uint64',
  RateLimitResponse:
    'overall_code:1 int32, statuses:2 *DescriptorStatus, response_headers_to_add:3 *HeaderValue, request_headers_to_add:4 *HeaderValue, raw_body:5 bytes',
  DescriptorStatus:
    'code:1 int32, current_limit:2 RateLimit, limit_remaining:3 uint32, duration_until_reset:4 Duration',
  RateLimit: 'requests_per_unit:1 uint32, unit:2 int32',
  Duration: 'seconds:1 int64, nanos:2 int32',
  ProcessingRequest:
    'request_headers:2 HttpHeaders, response_headers:3 HttpHeaders, request_body:4 HttpBody, response_body:5 HttpBody, metadata_context:8 Metadata, attributes:9 map Struct, protocol_config:11 ProtocolConfig',
  ProtocolConfig: 'request_body_mode:1 int32, response_body_mode:2 int32',
  HttpHeaders: 'headers:1 HeaderMap, end_of_stream:3 bool',
  HeaderMap: 'headers:1 *HeaderValue',
  HttpBody: 'body:1 bytes, end_of_stream:2 bool',
  ProcessingResponse:
    'request_headers:1 PartResponse, response_headers:2 PartResponse, request_body:3 PartResponse, response_body:4 PartResponse, immediate_response:7 Immediate, dynamic_metadata:8 Struct, mode_override:9 ProcessingMode',
  PartResponse: 'response:1 CommonResponse',
  ProcessingMode:
    'request_header_mode:1 int32, response_header_mode:2 int32, request_body_mode:3 int32, response_body_mode:4 int32',
  CommonResponse: 'status:1 int32, header_mutation:2 HeaderMutation, body_mutation:3 BodyMutation',
  HeaderMutation: 'set_headers:1 *HeaderValueOption, remove_headers:2 *string',
  BodyMutation: 'body:1 bytes, clear_body:2 bool, streamed_response:3 HttpBody',
  Immediate: 'status:1 HttpStatus, headers:2 HeaderMutation, body:3 bytes, details:5 string',
}

const root = protobuf.Root.fromJSON({
  nested: Object.fromEntries(
    Object.entries(MESSAGES).map(([name, written]) => [name, { fields: fieldsOf(written) }]),
  ),
})

function fieldsOf(written: string) {
  return Object.fromEntries(
    written.split(', ').map((text) => {
      const [own = '', first = '', second = ''] = text.split(' ')
      const [name = '', number] = own.split(':')
      const camel = name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
      const id = Number(number)
      if (first === 'map') return [camel, { keyType: 'string', type: second, id }]
      if (!first.startsWith('*')) return [camel, { type: first, id }]
      return [camel, { rule: 'repeated', type: first.slice(1), id }]
    }),
  )
}

/** Names are in camel case; 64-bit numbers are read as strings. */
export function encodeEnvoy(name: string, value: object): Buffer {
  const type = root.lookupType(name)
  return Buffer.from(type.encode(type.fromObject(value)).finish())
}

export function decodeEnvoy(name: string, bytes: Uint8Array): Record<string, unknown> {
  const type = root.lookupType(name)
  return type.toObject(type.decode(bytes), { longs: String })
}
