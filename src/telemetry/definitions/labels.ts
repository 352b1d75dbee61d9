import { label, type OTHER } from '../label.ts'

// Never a raw path, header, claim or address: the gateway cannot bound their number.

export const LISTENER = label('listener', 'gateway and listener, as `gateway/listener`')
export const ROUTE = label('route', 'the route; `none` if no route matched')
export const BACKEND = label(
  'backend',
  'the backend, not each of its endpoints; each provider of an AI backend, as `backend/provider`',
)
export const POLICY = label('policy', 'the policy; `inline` with its location if unnamed')
export const RULE = label('rule', 'section and index of the rule, such as `authorization[0]`')
export const WORKER = label('worker', 'number of the worker; `main` is the process that owns them')

export const WIRE_PROTOCOL = label('protocol', 'protocol of the connection', [
  'http1',
  'http2',
  'tls',
  'tcp',
  'unknown',
])

export const METHOD = label('method', 'the HTTP method', [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'CONNECT',
  'TRACE',
])

export const STATUS = label('status', 'class of the status; `none` if there was no response', [
  '1xx',
  '2xx',
  '3xx',
  '4xx',
  '5xx',
  'none',
])

/** The source of the response; the access log's `reason` uses the same values. */
export const REASON = label('reason', 'the reason for the response', [
  'upstream',
  'direct-response',
  'redirect',
  'cors-preflight',
  'bad-request',
  'too-large',
  'no-route',
  'connect-refused',
  'authentication',
  'authorization',
  'external-authorization',
  'external-processing',
  'csrf',
  'rate-limit',
  'guardrail',
  'overload',
  'draining',
  'backend-auth',
  'endpoint-picker',
  'no-backend',
  'upstream-connect',
  'upstream-reset',
  'upstream-invalid',
  'upstream-timeout',
  'request-timeout',
  'body-timeout',
  'client-gone',
  'invalid-configuration',
  'invalid-policy',
  'invalid-backend',
  'expression-failed',
  'internal',
])

/** Every reply and every end of a request has one of these. */
export type Reason = Exclude<(typeof REASON)['values'][number], typeof OTHER>

export const ACTION = label('action', 'the action of the rule', [
  'Allow',
  'Require',
  'Deny',
  'none',
])

export const CAUSE = label('cause', 'result of the rule', [
  'matched',
  'false',
  'error',
  'unset',
  'no-allow-match',
  'invalid-policy',
  'pin',
  'none',
])
