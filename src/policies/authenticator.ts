import type { JsonObject } from '../cel/values/value.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { headerEdit } from '../exchange/header-edit.ts'
import type { ClientCredential, IdentityVariable } from '../exchange/identity.ts'
import type { AuthenticationMethod } from '../exchange/rejection.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import { type Outcome, runSteps, type Step } from '../exchange/step.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { Attachments, CompileContext, Part } from './define.ts'

/** Strict: known or 401. Optional: none is fine, a bad one is 401. Permissive: as if it had none. */
export type Mode = 'Strict' | 'Optional' | 'Permissive'

/** A credential that is not believed: the word of the metrics, and more for the log alone. */
export class BadCredential {
  readonly fault: string
  readonly detail: string

  constructor(fault: string, detail: string) {
    this.fault = fault
    this.detail = detail
  }
}

/** It could not be told, which is no fault of the client. */
export const UNAVAILABLE = 'unavailable'

/** Who asks, as expressions see it; undefined: the request has no credential of the kind. */
export type Found = JsonObject | BadCredential | undefined

/** One way to find out who asks, ready to run. */
export interface Authenticator {
  readonly method: AuthenticationMethod
  readonly variable: IdentityVariable
  /** What a client is asked for, with no credential and with a bad one. */
  readonly challenge: Challenge
  /** It keeps the credential from the backend, unless told otherwise, whether it is believed or not. */
  authenticate(exchange: Exchange): Found | Promise<Found>
  /** The credential that was verified, for backends that are to see it. */
  readonly credential: ClientCredential
  /** Where in a request the credential stands. */
  readonly place: string
  /** Keeps it from the backend without looking at it. */
  discard(exchange: Exchange): void
}

export interface Challenge {
  /** Of WWW-Authenticate (RFC 9110 §11.6.1). */
  readonly missing: string
  readonly bad: string
  /** RFC 9110 §11.7: credentials for a proxy are asked for as one. */
  readonly isForProxy: boolean
}

/** An authentication as a step: the request goes on with whom it found, or gets a response. */
function authenticationStep(policy: ValidPolicy, mode: Mode, authenticator: Authenticator): Step {
  const { method, variable, challenge } = authenticator
  const { missing, bad, isForProxy } = challenge
  const unknown = unauthorized([missing], isForProxy)
  const rejected = unauthorized([bad], isForProxy)

  const settle = (exchange: Exchange, found: Found): Outcome => {
    if (found === undefined) {
      return mode === 'Strict' ? reject(exchange, policy, method, MISSING, unknown) : undefined
    }
    if (found instanceof BadCredential) {
      return mode === 'Permissive' ? undefined : reject(exchange, policy, method, found, rejected)
    }
    exchange.identify(policy, variable, found, authenticator.credential)
    return undefined
  }

  return (exchange) => {
    const found = authenticator.authenticate(exchange)
    return found instanceof Promise
      ? found.then((settled) => settle(exchange, settled))
      : settle(exchange, found)
  }
}

export const MISSING = new BadCredential('missing', 'the request has no credential')

/** One response for all faults; which one it was is kept for those who run the gateway. */
export function reject(
  exchange: Exchange,
  by: ValidPolicy,
  method: AuthenticationMethod,
  { fault, detail }: BadCredential,
  response: Reply,
): Reply {
  exchange.rejection = { by, method, fault, detail }
  const reported = fault === UNAVAILABLE ? BUSY : response
  return { ...reported, detail: `${fault}: ${detail}` }
}

const BUSY = reply(503, 'authentication')

/** RFC 9110 §11.6.1: several challenges stand side by side. */
export function unauthorized(challenges: readonly string[], isForProxy: boolean): Reply {
  const value = [...new Set(challenges)].join(', ')
  const name = isForProxy ? 'proxy-authenticate' : 'www-authenticate'
  const set = [{ name, value }]
  return reply(isForProxy ? 407 : 401, 'authentication', '', headerEdit({ set }))
}

/** Makes an authenticator of what a policy says; `field` is where in the policy that stands. */
export type Open<T> = (
  value: T,
  policy: ValidPolicy,
  field: string,
  context: CompileContext,
) => Authenticator

/** All policies of one kind that reach a place: every one of them must be content. */
export function compileAuthentication<T extends { readonly mode: Mode }>(
  policies: Attachments<T>,
  context: CompileContext,
  open: Open<T>,
): Part {
  const steps = policies.map((policy) =>
    authenticationStep(policy, policy.value.mode, open(policy.value, policy, '', context)),
  )
  const [first, second] = steps
  if (first !== undefined && second === undefined) return { step: first }
  return { step: (exchange) => runSteps(steps, exchange) }
}
