import type { JsonObject } from '../cel/values/value.ts'

/** The expression variables that identify the client. */
export type IdentityVariable = 'jwt' | 'apiKey' | 'basicAuth' | 'extauthz'

/** A client credential that an authentication verified. */
export interface ClientCredential {
  /** Undefined if it was computed from the request. */
  readonly location: { readonly kind: string; readonly name: string } | undefined
  /** The credential without its prefix. */
  read(exchange: object): string | undefined
}

/** The identity of the client as one authentication verified it. */
export interface Identity {
  /** The authentication: one policy, as attached at one place. */
  readonly by: object
  readonly variable: IdentityVariable
  readonly value: JsonObject
  /** The credential that proved it; undefined if the client sent nothing that can be forwarded. */
  readonly credential: ClientCredential | undefined
  /** The identity found earlier: by an enclosing level, or by a policy that runs before. */
  readonly earlier: Identity | undefined
}

/**
 * Which authentications a policy trusts: for each variable, those that it sees. The first of them
 * that found an identity counts; if none did, the variable is unset. Equal scopes are one object.
 */
export type Scope = Readonly<Record<IdentityVariable, readonly object[]>>

/** The value of a variable as seen from a scope. */
export function valueIn(
  sources: readonly object[],
  variable: IdentityVariable,
  newest: Identity | undefined,
): JsonObject | undefined {
  for (const source of sources) {
    for (let own = newest; own !== undefined; own = own.earlier) {
      if (own.by === source && own.variable === variable) return own.value
    }
  }
  return undefined
}

/** The most specific value, from any authentication. */
export function newestValue(
  variable: IdentityVariable,
  newest: Identity | undefined,
): JsonObject | undefined {
  for (let own = newest; own !== undefined; own = own.earlier) {
    if (own.variable === variable) return own.value
  }
  return undefined
}
