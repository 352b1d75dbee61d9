import type { JsonObject } from '../cel/values/value.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { headerEdit } from '../exchange/header-edit.ts'
import type { ClientCredential, IdentityVariable } from '../exchange/identity.ts'
import type { AuthenticationMethod } from '../exchange/rejection.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import { type Outcome, runSteps, type Step } from '../exchange/step.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { Attachments, CompileContext, Part } from './define.ts'

/**
 * Strict: a valid credential or 401. Optional: none is allowed, a bad one gets 401. Permissive: a
 * bad one counts as none.
 */
export type Mode = 'Strict' | 'Optional' | 'Permissive'

/** A rejected credential: the word for metrics, and details for the log only. */
export class BadCredential {
  readonly fault: string
  readonly detail: string

  constructor(fault: string, detail: string) {
    this.fault = fault
    this.detail = detail
  }
}

/** The credential could not be checked, which is not the client's fault. */
export const UNAVAILABLE = 'unavailable'

/** The identity as expressions see it; undefined: the request has no credential of this kind. */
export type Found = JsonObject | BadCredential | undefined

/** A compiled authentication method. */
export interface Authenticator {
  readonly method: AuthenticationMethod
  readonly variable: IdentityVariable
  /** The challenges for a missing and for a bad credential. */
  readonly challenge: Challenge
  /**
   * Unless configured otherwise, removes the credential from the forwarded request, valid or not.
   */
  authenticate(exchange: Exchange): Found | Promise<Found>
  /** The verified credential, for backends that need it. */
  readonly credential: ClientCredential
  /** Where the credential is in a request. */
  readonly place: string
  /** Removes the credential from the forwarded request without checking it. */
  discard(exchange: Exchange): void
}

export interface Challenge {
  /** For WWW-Authenticate (RFC 9110 §11.6.1). */
  readonly missing: string
  readonly bad: string
  /** RFC 9110 §11.7: credentials for a proxy have their own status and headers. */
  readonly isForProxy: boolean
}

/** Runs an authentication as a step: sets the identity, or returns a response. */
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

/** The same response for all faults; the actual fault is recorded for operators. */
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

/** RFC 9110 §11.6.1: several challenges are listed in one field. */
export function unauthorized(challenges: readonly string[], isForProxy: boolean): Reply {
  const value = [...new Set(challenges)].join(', ')
  const name = isForProxy ? 'proxy-authenticate' : 'www-authenticate'
  const set = [{ name, value }]
  return reply(isForProxy ? 407 : 401, 'authentication', '', headerEdit({ set }))
}

/** Compiles a policy value to an authenticator; `field` is the path of the value in the policy. */
export type Open<T> = (
  value: T,
  policy: ValidPolicy,
  field: string,
  context: CompileContext,
) => Authenticator

/** All policies of one kind that apply at a place; every one of them must accept the request. */
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
