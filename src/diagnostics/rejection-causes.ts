/** The causes of rejections, which are also reasons in the access log, in words. */
const WORDS: Readonly<Record<string, string>> = {
  'direct-response': 'a policy responds to all requests',
  'cors-preflight': '`cors` does not allow the preflight',
  'bad-request': 'the request is malformed',
  'too-large': 'the body is too large',
  'no-route': 'no route matches the request',
  authentication: 'the client is not authenticated',
  authorization: 'the client may not do this',
  'external-authorization': 'an external service denied the request or failed',
  'external-processing': 'an external service that processes requests responded or failed',
  csrf: 'the request comes from another site',
  'rate-limit': 'a rate limit or a budget is exhausted',
  overload: 'the gateway is at a limit',
  draining: 'the gateway is stopping',
  'backend-auth': 'there is no credential for the backend',
  'endpoint-picker': 'the endpoint picker failed or rejected the request',
  'no-backend': 'there is no backend for the request',
  'upstream-connect': 'the backend cannot be reached',
  'upstream-reset': 'the backend closed the connection',
  'upstream-invalid': 'the response of the backend is invalid',
  'upstream-timeout': 'the backend did not respond in time',
  'request-timeout': 'the request took longer than its timeout',
  'body-timeout': 'the client did not send the body in time',
  'invalid-configuration': 'the route is invalid',
  'invalid-policy': 'a policy is invalid',
  'invalid-backend': 'the backend is invalid',
  'expression-failed': 'an expression of the response failed',
  internal: 'the gateway has an internal error; see its log',
}

export function rejectionText(cause: string): string {
  return WORDS[cause] ?? cause
}
