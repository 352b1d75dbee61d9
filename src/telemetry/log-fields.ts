/** A field of the access log and of the record of a connection. */
export interface LogField {
  readonly name: string
  readonly meaning: string
  readonly example: string
}

/**
 * In the order in which they are written. Fields that a request or connection lacks are omitted.
 */
export const LOG_FIELDS = [
  { name: 'gateway', meaning: 'the gateway', example: 'default' },
  { name: 'listener', meaning: 'the listener', example: 'https' },
  { name: 'route', meaning: 'the route that matched', example: 'shop/orders' },
  { name: 'backend', meaning: 'the backend that was selected', example: 'orders' },
  {
    name: 'provider',
    meaning: 'for an AI backend, the provider that was selected',
    example: 'main',
  },
  {
    name: 'endpoint',
    meaning: 'address of the backend endpoint',
    example: '10.0.3.7:8080',
  },
  { name: 'src.addr', meaning: 'address and port of the client', example: '203.0.113.9:51410' },
  {
    name: 'src.identity',
    meaning: 'identity in the client certificate',
    example: 'spiffe://example/ns/shop/sa/web',
  },
  { name: 'http.method', meaning: 'the method', example: 'GET' },
  { name: 'http.host', meaning: 'the host, from Host or :authority', example: 'shop.example' },
  { name: 'http.path', meaning: 'the path, without the query', example: '/orders/7' },
  { name: 'http.version', meaning: 'the HTTP version of the client', example: 'HTTP/1.1' },
  { name: 'http.status', meaning: 'the status of the response', example: '200' },
  { name: 'grpc.status', meaning: 'the gRPC status', example: '0' },
  {
    name: 'tls.sni',
    meaning: 'the server name that the client sent; empty for a denied connection if it sent none',
    example: 'shop.example',
  },
  {
    name: 'request.id',
    meaning:
      'ID of the request, which the client and the backend receive as `x-request-id`; for a connection ' +
      'that was denied, the ID of its decision',
    example: '01a1dd64-996a-76f8-bf3a-bf7a3c672491',
  },
  { name: 'trace.id', meaning: 'the trace', example: '4bf92f3577b34da6a3ce929d0e0e4736' },
  { name: 'span.id', meaning: 'the span of the gateway', example: '00f067aa0ba902b7' },
  { name: 'jwt.sub', meaning: 'subject of the verified token', example: 'alice' },
  { name: 'protocol', meaning: '`tcp` if it is not an HTTP request', example: 'tcp' },
  {
    name: 'gen_ai.operation.name',
    meaning:
      'for a model call, the operation: `chat`, `embeddings`, `rerank`, `count-tokens`, `state`, `other`',
    example: 'chat',
  },
  { name: 'gen_ai.provider.name', meaning: 'the vendor of the provider', example: 'openai' },
  {
    name: 'gen_ai.request.model',
    meaning: 'the model that the client requested',
    example: 'gpt-5-mini',
  },
  {
    name: 'gen_ai.response.model',
    meaning: 'the model that responded, as named by the provider',
    example: 'gpt-5-mini-2026-08-07',
  },
  {
    name: 'gen_ai.usage.input_tokens',
    meaning: 'prompt tokens, including cached tokens',
    example: '1200',
  },
  {
    name: 'gen_ai.usage.output_tokens',
    meaning: 'output tokens, including reasoning',
    example: '310',
  },
  {
    name: 'gen_ai.usage.cache_read.input_tokens',
    meaning: 'prompt tokens that were read from the cache of the provider',
    example: '1024',
  },
  {
    name: 'gen_ai.usage.cache_creation.input_tokens',
    meaning: 'prompt tokens that were written to the cache of the provider',
    example: '512',
  },
  {
    name: 'gen_ai.usage.reasoning.output_tokens',
    meaning: 'output tokens used for reasoning',
    example: '128',
  },
  {
    name: 'llm.cost',
    meaning: 'cost of the call based on the model catalog, in US dollars',
    example: '0.00525',
  },
  {
    name: 'llm.time_to_first_token',
    meaning: 'for a stream, time from sending the call to the first token; in JSON, milliseconds',
    example: '412ms',
  },
  {
    name: 'llm.dropped',
    meaning: 'features that were lost in translation between the APIs of client and provider',
    example: 'seed, logit_bias',
  },
  {
    name: 'mcp.method.name',
    meaning: 'for an MCP request, its method',
    example: 'tools/call',
  },
  { name: 'mcp.target', meaning: 'the MCP server that it is for', example: 'files' },
  {
    name: 'gen_ai.tool.name',
    meaning: 'the tool of a call, as named by its server',
    example: 'read_file',
  },
  {
    name: 'mcp.outcome',
    meaning: 'the outcome: `success`, `tool-error`, `error`, `denied`, `unknown`, …',
    example: 'success',
  },
  {
    name: 'headers.unwritten',
    meaning:
      'headers that a policy was to write, and that were removed instead, because the value cannot be sent',
    example: 'x-user',
  },
  { name: 'retry.attempt', meaning: 'retries before this response', example: '1' },
  { name: 'policy', meaning: 'for a denied connection, the policy that decided', example: 'door' },
  {
    name: 'rule',
    meaning: 'for a denied connection, the rule that decided',
    example: 'networkAuthorization[0]',
  },
  { name: 'error', meaning: 'description of the error', example: '"authorization failed"' },
  {
    name: 'reason',
    meaning: 'the reason for the response, or why a connection ended',
    example: 'upstream',
  },
  {
    name: 'detail',
    meaning: 'details of the reason, such as the problem with a rejected request',
    example: 'both-lengths',
  },
  { name: 'bytes.received', meaning: 'bytes of the body, or of the connection', example: '0' },
  { name: 'bytes.sent', meaning: 'bytes of the body, or of the connection', example: '5120' },
  {
    name: 'duration',
    meaning: 'time from the first byte to the last; in JSON, a number of milliseconds',
    example: '1.234ms',
  },
] as const satisfies readonly LogField[]

export type LogFieldName = (typeof LOG_FIELDS)[number]['name']
