import type { Exchange } from '../../exchange/exchange.ts'
import { type Outcome, runSteps, type Step } from '../../exchange/step.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import {
  type Authenticator,
  BadCredential,
  type Found,
  MISSING,
  type Open,
  reject,
  unauthorized,
} from '../authenticator.ts'
import type { Attachments, CompileContext, Part } from '../define.ts'
import type { Authentication, MemberKind } from './schema.ts'

export type Methods = Readonly<Record<MemberKind, Open<never>>>

export function compileAnyOf(
  policies: Attachments<Authentication>,
  context: CompileContext,
  methods: Methods,
): Part {
  const steps = policies.map((policy) => compileOne(policy, context, methods))
  return { step: (exchange) => runSteps(steps, exchange) }
}

function compileOne(
  policy: ValidPolicy<Authentication>,
  context: CompileContext,
  methods: Methods,
): Step {
  const { mode, anyOf } = policy.value
  const ways = anyOf.map(({ kind, value }, index) =>
    methods[kind](value as never, policy, `anyOf[${index}].${kind}`, context),
  )

  const settle = (exchange: Exchange, bad: readonly Tried[]): Outcome => {
    const [first] = bad
    if (first === undefined ? mode !== 'Strict' : mode === 'Permissive') return undefined
    const isForProxy = ways.every(({ challenge }) => challenge.isForProxy)
    const isBad = new Set(bad.map(({ way }) => way))
    const challenges = ways.map((way) => way.challenge[isBad.has(way) ? 'bad' : 'missing'])
    const response = unauthorized(challenges, isForProxy)
    if (first === undefined) {
      return reject(exchange, policy, (ways[0] as Authenticator).method, MISSING, response)
    }
    const detail = bad.map(({ way, why }) => `${way.method} ${why.fault}, ${why.detail}`).join('; ')
    const why = new BadCredential(first.why.fault, detail)
    return reject(exchange, policy, first.way.method, why, response)
  }

  /**
   * Tries the methods in order: the first accepted credential is enough, whatever else was sent.
   */
  const tryFrom = (
    exchange: Exchange,
    from: number,
    bad: readonly Tried[],
  ): Outcome | Promise<Outcome> => {
    const way = ways[from]
    if (way === undefined) return settle(exchange, bad)
    const goOn = (found: Found): Outcome | Promise<Outcome> => {
      if (found === undefined) return tryFrom(exchange, from + 1, bad)
      if (found instanceof BadCredential) {
        return tryFrom(exchange, from + 1, [...bad, { way, why: found }])
      }
      exchange.identify(policy, way.variable, found, way.credential)
      // The other credentials were not verified, so nothing behind the gateway may trust them.
      for (const other of ways.slice(from + 1)) {
        if (other.place !== way.place) other.discard(exchange)
      }
      return undefined
    }
    const found = way.authenticate(exchange)
    return found instanceof Promise ? found.then(goOn) : goOn(found)
  }

  return (exchange) => tryFrom(exchange, 0, [])
}

interface Tried {
  readonly way: Authenticator
  readonly why: BadCredential
}
