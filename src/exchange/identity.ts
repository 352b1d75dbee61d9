import type { JsonObject } from '../cel/values/value.ts'

/** The variables of expressions that say who asks. */
export type IdentityVariable = 'jwt' | 'apiKey' | 'basicAuth' | 'extauthz'

/** The credential of a client that an authentication has verified. */
export interface ClientCredential {
  /** Undefined where it was computed from the request. */
  readonly location: { readonly kind: string; readonly name: string } | undefined
  /** The text, without what stands before it. */
  read(exchange: object): string | undefined
}

/** Who asks, as one authentication found out. */
export interface Identity {
  /** The authentication: one policy, as it is attached at one place. */
  readonly by: object
  readonly variable: IdentityVariable
  readonly value: JsonObject
  /** What it was found out by; undefined where the client sent nothing that could be sent on. */
  readonly credential: ClientCredential | undefined
  /** What was found out before it: by enclosing levels, or by policies that run earlier. */
  readonly earlier: Identity | undefined
}

/**
 * Whose word a policy takes: for each variable the authentications that it sees. Of several the
 * first that found somebody counts; of none, the variable is unset. Equal scopes are one object.
 */
export type Scope = Readonly<Record<IdentityVariable, readonly object[]>>

/** The value of a variable as it is seen from a scope. */
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

/** The most specific value, whoever found it. */
export function newestValue(
  variable: IdentityVariable,
  newest: Identity | undefined,
): JsonObject | undefined {
  for (let own = newest; own !== undefined; own = own.earlier) {
    if (own.variable === variable) return own.value
  }
  return undefined
}
