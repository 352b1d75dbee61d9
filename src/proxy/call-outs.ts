/** One place at which the request path calls code that might throw. */
export interface CallOut {
  readonly name: string
  /** The code that runs there. */
  readonly what: string
  /** What happens to the request or the connection if it throws. */
  readonly happens: string
}

const RESPONDED = 'The request gets 500.'
const CLOSED = 'The connection is closed.'
const CUT = 'If the response has not begun, the request gets 500; otherwise it is cut short.'

/**
 * Every place at which the request path calls out, named as in metrics and the log. The reference
 * page is generated from this list, and a test injects a throw at each place.
 */
export const CALL_OUTS = [
  {
    name: 'request',
    what: 'selecting the listener and the route, limits, a CEL expression of a route',
    happens: RESPONDED,
  },
  {
    name: 'policy',
    what: 'a policy of the gateway, listener or route, in whatever order it runs',
    happens: RESPONDED,
  },
  {
    name: 'rule',
    what: 'an authorization rule or the rule index, at every stage',
    happens:
      'A throw counts as an expression over its bound: a Deny rule denies, a Require rule denies, an Allow rule does not admit and the others are still evaluated. If the index throws, no rule that it covers admits. Rules in audit mode change nothing.',
  },
  {
    name: 'backend',
    what: 'choosing the backend, policies of a backend, reading a message to an agent',
    happens: RESPONDED,
  },
  {
    name: 'provider',
    what: 'choosing a provider of an AI backend, policies of a provider, budgets, guards and translation of a call to a model',
    happens: RESPONDED,
  },
  {
    name: 'delivery',
    what: 'choosing an endpoint, retry conditions, connecting and sending, messages to MCP servers and from them',
    happens: CUT,
  },
  {
    name: 'response',
    what: 'reading the response of a backend, policies on it and on its body, recording it, outlier expressions',
    happens: CUT,
  },
  {
    name: 'mirror',
    what: 'sending a copy of the request to a mirror',
    happens: 'The copy is dropped. The request is served.',
  },
  {
    name: 'body',
    what: 'evaluating a request whose body was read first, reading a call to a model, passing its body on, policies that change it',
    happens: CUT,
  },
  {
    name: 'reply',
    what: 'rendering a response of the gateway itself',
    happens: 'The request gets 500 without the headers that policies set.',
  },
  {
    name: 'decision-record',
    what: 'recording a decision before a response is sent',
    happens: RESPONDED,
  },
  {
    name: 'telemetry',
    what: 'metrics, metric labels, the access log, its filter and fields, traces',
    happens:
      'If the response has not begun, the request gets 500. A failure after the response does not affect it.',
  },
  {
    name: 'accept',
    what: 'accepting a connection, the PROXY header, network authorization',
    happens: CLOSED,
  },
  {
    name: 'client-hello',
    what: 'reading the ClientHello, choosing the listener by SNI, network authorization',
    happens: CLOSED,
  },
  {
    name: 'handshake',
    what: 'the end of a TLS handshake, network authorization by certificate',
    happens: CLOSED,
  },
  {
    name: 'stream',
    what: 'choosing the endpoint of a TCP or TLS connection, connecting, passing bytes on',
    happens: CLOSED,
  },
  {
    name: 'connection',
    what: 'reading HTTP from a connection or a stream',
    happens: CLOSED,
  },
  {
    name: 'timer',
    what: 'timeouts of requests and connections',
    happens: 'The request gets 500 if its response has not begun. Other timers are not affected.',
  },
  {
    name: 'swap',
    what: 'applying a new configuration',
    happens:
      'The configuration is rejected with PC0404, and the gateway keeps the previous one. A later reload works.',
  },
  {
    name: 'admin',
    what: 'the admin API, metrics and readiness',
    happens: 'The caller gets 500.',
  },
  {
    name: 'process',
    what: 'anything else: health checks, key sets, name resolution, timers of the process',
    happens: 'The operation that failed is abandoned, and the process keeps running.',
  },
] as const satisfies readonly CallOut[]

export type CallOutName = (typeof CALL_OUTS)[number]['name']
