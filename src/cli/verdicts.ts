import { BAD_CREDENTIAL } from '../analysis/diff/credentials.ts'
import type { Verdict } from '../analysis/diff/difference.ts'
import type { NamesRead } from '../analysis/diff/header-names.ts'
import type { Decision } from '../exchange/decision.ts'
import type { Reply } from '../exchange/reply.ts'
import type { Model } from '../model/model.ts'
import type { Attached } from '../model/policy.ts'
import type { Settings } from '../model/settings.ts'
import type { Authentication } from '../policies/authentication/schema.ts'
import type { JwtAuthentication } from '../policies/jwt-authentication/schema.ts'
import { compileProgram } from '../program/compile.ts'
import {
  denialOf,
  type ExplainedRequest,
  explainRequest,
  type HypotheticalRequest,
} from '../program/explain.ts'
import { clientCertificates } from '../program/explain-listener.ts'
import { isOwnResponse } from '../program/explain-steps.ts'
import { recognize } from '../program/hypothetical-token.ts'
import { closeKept, retiredKept } from '../program/kept.ts'
import type { Program } from '../program/program.ts'
import { recordOf } from '../reach/kinds.ts'
import { readHypothetical } from './hypothetical-request.ts'
import { idleServices } from './idle-deps.ts'
import { RequestReader } from './wire-request.ts'

/** A configuration that evaluates hypothetical requests. */
export interface Verdicts {
  /** Uses the same functions as the gateway; for a connection alone, only its rules. */
  decide(hypothetical: HypotheticalRequest, isConnection?: boolean): Verdict
  /** The headers that affect decisions. */
  readonly headersRead: NamesRead
  close(): void
}

/** Process settings may affect decisions too, if they are known. */
export type SetModel = Model & { readonly settings?: Settings }

export function openVerdicts(model: SetModel): Verdicts {
  const dice = { value: 0 }
  const services = idleServices(dice, model.settings?.modelCatalog)
  const program = compileProgram(model, undefined, services)
  const reader = new RequestReader(program)
  return {
    decide(written, isConnection = false) {
      const hypothetical = isConnection ? written : readHypothetical(program, reader, written)
      if ('word' in hypothetical)
        return rejected('', `${hypothetical.status ?? 'closed'}: ${hypothetical.word}`)
      const explained = explainRequest(program, hypothetical, dice)
      if (typeof explained === 'string') return rejected('', explained)
      const { route, authentications, stages, closed, early, signInPage, late } = explained
      const [connection, ...others] = stages
      const denied = connection && reasonOf(denialOf([connection]))
      if (denied !== undefined) return rejected('', denied)
      if (closed !== undefined) return rejected('', `closed: ${closed}`)
      if (isUncertified(program, explained, hypothetical)) {
        return rejected('', 'closed: client-certificate-missing')
      }
      if (isConnection) return { isAdmitted: true, route: '', reason: 'admitted' }
      if (early !== undefined) return rejected(route, `${early.status}: ${early.reason}`)
      if (signInPage !== undefined) return rejected(route, signInPage)
      const unknown = authentications.map((one) => rejectionBy(one, hypothetical)).find(Boolean)
      if (unknown !== undefined) return rejected(route, unknown)
      const denial = reasonOf(denialOf(others))
      if (denial !== undefined) return rejected(route, denial)
      if (others.length > 0 && route === '') return rejected('', 'no route matches')
      // It follows the rules, whatever its reason.
      if (late !== undefined && (!isOwnResponse(late) || late.status >= 400)) {
        return { ...rejected(route, reasonIn(late)), isUnserved: true }
      }
      return { isAdmitted: true, route, reason: 'admitted' }
    },
    headersRead: program.headersRead ?? { names: new Set(), all: false },
    close: () => closeKept(retiredKept(program, undefined)),
  }
}

/** The handshake fails, so that no request rule is reached. */
function isUncertified(
  { listeners }: Program,
  at: ExplainedRequest,
  { certificate }: HypotheticalRequest,
): boolean {
  if (certificate !== undefined) return false
  const own = listeners.find(
    ({ gateway, listener }) => gateway === at.gateway && listener.name === at.listener,
  )
  return own !== undefined && clientCertificates(own) === 'Require'
}

function reasonIn({ status, reason }: Reply): string {
  return `${status}: ${reason}`
}

function rejected(route: string, reason: string): Verdict {
  return { isAdmitted: false, route, reason }
}

const CAME_TO: Readonly<Record<string, string>> = {
  matched: 'matches',
  false: 'is false',
  error: 'is an error',
  unset: 'is undefined',
}

function reasonOf(decision: Decision | undefined): string | undefined {
  if (decision === undefined) return undefined
  const { rule, cause } = decision
  if (rule === undefined) return cause === 'no-allow-match' ? 'no Allow rule matches' : cause
  return `${rule.action} \`${rule.expression}\` of \`${rule.policy}\` ${CAME_TO[cause] ?? cause}`
}

/** Whether the invalid credentials of examples are where the policy looks for credentials. */
function isBad(value: unknown, { headers }: Pick<HypotheticalRequest, 'headers'>): boolean {
  const { location, anyOf = [] } = value as Partial<JwtAuthentication & Authentication>
  // Credentials that are invalid for one of several methods are invalid for all.
  if (anyOf.some((one) => isBad(one.value, { headers }))) return true
  if (location?.kind !== 'header') return false
  const { name, prefix } = location
  return headers.some(
    ([own, text]) => own.toLowerCase() === name && text === `${prefix}${BAD_CREDENTIAL}`,
  )
}

/** Why the assumed credentials would be rejected; undefined if they would be accepted. */
export function rejectionBy(
  policy: Attached,
  hypothetical: Pick<HypotheticalRequest, 'identity' | 'headers'>,
): string | undefined {
  const { identity } = hypothetical
  if (policy.state !== 'valid') return 'an authentication policy is invalid'
  const { mode = 'Strict' } = policy.value as { readonly mode?: string }
  const { variables, accepted, rejection } = recognize(policy, identity)
  const isThere = variables.some((variable) => identity[variable] !== undefined)
  // Signing in yields a session; the response of a service is not known.
  if (policy.kind === 'oidc') {
    return isThere || mode !== 'Strict' ? undefined : '401: oidc requires a session'
  }
  if (recordOf(policy.kind)?.callsService === true) return undefined
  if (!isThere && mode !== 'Permissive' && isBad(policy.value, hypothetical)) {
    return `401: ${policy.kind} rejects the credentials`
  }
  if (!isThere) return mode === 'Strict' ? `401: ${policy.kind} requires credentials` : undefined
  if (mode === 'Permissive' || accepted.length > 0) return undefined
  return rejection === undefined ? undefined : `401: ${rejection}`
}
